//! A git repository of the demonstration's own, and commands that are run in it as anybody would.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tenure_databases::url::SecretUrl;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::{PATIENCE, failed};
use crate::outcome::Error;
use crate::output::seconds;

pub struct Repository {
    pub root: PathBuf,
    url: SecretUrl,
}

/// What a command of this program has said.
pub struct Said {
    pub yes: bool,
    pub stdout: String,
    pub stderr: String,
}

impl Repository {
    /// Beside the database, with one commit, on a branch that nobody protects. None: there is no git.
    pub async fn make(url: &SecretUrl) -> Result<Option<Repository>, Error> {
        let is_there = Command::new("git").arg("--version").stdout(Stdio::null()).status().await.is_ok();
        let beside = url.reveal().strip_prefix("sqlite:").and_then(|file| Path::new(file).parent());
        let Some(folder) = beside.filter(|_| is_there) else { return Ok(None) };
        let repository = Repository { root: folder.join("repository"), url: url.clone() };
        std::fs::create_dir_all(&repository.root)?;
        repository.git(&["init", "--quiet", "--template=", "--initial-branch=work"]).await?;
        repository.write("hello.txt", "")?;
        repository.git(&["add", "."]).await?;
        repository.git(&["commit", "--quiet", "--message", "an empty page"]).await?;
        Ok(Some(repository))
    }

    pub fn write(&self, file: &str, text: &str) -> Result<(), Error> {
        Ok(std::fs::write(self.root.join(file), text)?)
    }

    pub async fn git(&self, arguments: &[&str]) -> Result<String, Error> {
        let mut git = Command::new("git");
        // Whatever whoever runs this has told git: here it does what the demonstration says.
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            git.env_remove(name);
        }
        git.args(["-c", "user.name=demo", "-c", "user.email=demo@tenure.invalid"]).args(arguments);
        let said = git.current_dir(&self.root).stdin(Stdio::null()).output().await?;
        match said.status.success() {
            true => Ok(String::from_utf8_lossy(&said.stdout).into_owned()),
            false => Err(failed(format!("git {arguments:?}: {}", String::from_utf8_lossy(&said.stderr)))),
        }
    }

    /// This very program, on the database of the demonstration, in this repository.
    pub fn command(&self, session: Option<&str>, arguments: &[&str]) -> Result<Command, Error> {
        let mut command = Command::new(std::env::current_exe()?);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TENURE_"))
        {
            command.env_remove(name);
        }
        command
            .args(arguments)
            .current_dir(&self.root)
            .env("TENURE_DB", self.url.reveal())
            .env("USER", "ann");
        command.envs(session.map(|session| ("TENURE_SESSION", session)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        Ok(command)
    }

    pub async fn run(&self, session: Option<&str>, arguments: &[&str]) -> Result<Said, Error> {
        let mut command = self.command(session, arguments)?;
        let late =
            |_| failed(format!("`tenure {}` took more than {}", arguments.join(" "), seconds(PATIENCE)));
        let said = timeout(PATIENCE, command.output()).await.map_err(late)??;
        Ok(Said {
            yes: said.status.success(),
            stdout: String::from_utf8_lossy(&said.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&said.stderr).into_owned(),
        })
    }

    /// The same, with a field of what it answers.
    pub async fn field(
        &self,
        session: Option<&str>,
        arguments: &[&str],
        name: &str,
    ) -> Result<String, Error> {
        let said = self.run(session, arguments).await?;
        let answer: serde_json::Value = serde_json::from_str(&said.stdout).unwrap_or_default();
        let field = answer[name].as_str().map(str::to_string);
        field.ok_or_else(|| failed(format!("`tenure {}`: {}", arguments.join(" "), said.stderr)))
    }
}

/// Waits until a command says this on its error output.
pub async fn hears(child: &mut Child, word: &str) -> Result<(), Error> {
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let listened = async {
        while let Some(line) = lines.next_line().await? {
            if line.contains(word) {
                return Ok(());
            }
        }
        Err(failed(format!("a command ended before it said `{word}`")))
    };
    let late = |_| failed(format!("no command said `{word}` in {}", seconds(PATIENCE)));
    timeout(PATIENCE, listened).await.map_err(late)?
}
