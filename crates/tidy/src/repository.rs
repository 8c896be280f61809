//! The tree on disk: which files belong to it, what is in them, and the module path a file's tests are named by.
//!
//! The only part of tidy that reads files or starts a process. A file belongs to the tree when git knows it, or would
//! after `git add`: ignored files are nobody's business.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// The files of the repository, by path from its root with `/` between, and their text.
#[derive(Debug)]
pub struct Repository {
    root: PathBuf,
    files: BTreeMap<String, String>,
}

impl Repository {
    /// Reads the repository that the working directory is in.
    pub fn open() -> io::Result<Repository> {
        let start = env::current_dir()?;
        let is_root = |folder: &&Path| {
            fs::read_to_string(folder.join("Cargo.toml"))
                .is_ok_and(|manifest| manifest.contains("[workspace]"))
        };
        let root = start.ancestors().find(is_root);
        let root = root.ok_or_else(|| io::Error::other("no Cargo workspace here or above"))?.to_path_buf();
        let mut files = BTreeMap::new();
        for path in list(&root)? {
            // Git still lists a file that was deleted and not yet committed, and lists links to folders.
            if root.join(&path).is_file() {
                let bytes = fs::read(root.join(&path))?;
                files.insert(path, String::from_utf8_lossy(&bytes).into_owned());
            }
        }
        Ok(Repository { root, files })
    }

    pub fn files(&self) -> &BTreeMap<String, String> {
        &self.files
    }

    pub fn text(&self, path: &str) -> io::Result<&str> {
        let text = self.files.get(path).map(String::as_str);
        text.ok_or_else(|| io::Error::other(format!("{path} is not in the repository")))
    }

    /// A file outside the tree, by its path from the root; none where it does not exist.
    pub fn neighbour(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    /// The path that names of tests in `path` begin with.
    pub fn module(&self, path: &str) -> String {
        let folders = Path::new(path).ancestors().skip(1).filter_map(Path::to_str);
        for folder in folders.filter(|folder| !folder.is_empty()) {
            let manifest = self.files.get(&format!("{folder}/Cargo.toml"));
            if let Some(package) = manifest.and_then(|manifest| package_name(manifest)) {
                return module_path(&package, path.trim_start_matches(folder));
            }
        }
        module_path("", path)
    }
}

fn list(root: &Path) -> io::Result<Vec<String>> {
    // In a container the files may belong to another user than the one who runs this; reading names is harmless.
    let output = Command::new("git")
        .args(["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("git ls-files: {}", String::from_utf8_lossy(&output.stderr))));
    }
    let paths = String::from_utf8_lossy(&output.stdout);
    Ok(paths.split('\0').filter(|path| !path.is_empty()).map(str::to_string).collect())
}

/// The first `name = "…"` of a manifest is the package's: `[package]` stands first in ours.
fn package_name(manifest: &str) -> Option<String> {
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = "))?;
    Some(name.trim_matches('"').replace('-', "_"))
}

/// `tenure_core` and `src/lease/expiry.rs` make `tenure_core::lease::expiry`; a file under `tests/` keeps that word.
fn module_path(package: &str, file: &str) -> String {
    let path = file.trim_start_matches('/').trim_end_matches(".rs");
    let path = path.strip_prefix("src/").unwrap_or(path);
    let mut parts: Vec<&str> =
        [package].into_iter().chain(path.split('/')).filter(|part| !part.is_empty()).collect();
    parts.pop_if(|last| matches!(*last, "lib" | "main"));
    parts.join("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_by_its_package_and_modules() {
        for (package, file, expected) in [
            ("tenure_core", "/src/lib.rs", "tenure_core"),
            ("tenure_core", "/src/lease.rs", "tenure_core::lease"),
            ("tenure_core", "/src/lease/expiry.rs", "tenure_core::lease::expiry"),
            ("tenure_core", "/tests/lease.rs", "tenure_core::tests::lease"),
            ("tenure_core", "/tests/suite/main.rs", "tenure_core::tests::suite"),
            ("", "examples/hello.rs", "examples::hello"),
        ] {
            assert_eq!(module_path(package, file), expected);
        }
    }

    #[test]
    fn a_package_is_named_by_its_manifest() {
        assert_eq!(
            package_name("[package]\nname = \"tenure-core\"\n[[bin]]\nname = \"x\"").as_deref(),
            Some("tenure_core")
        );
        assert_eq!(package_name("[workspace]\n"), None);
    }
}
