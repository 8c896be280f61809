//! Which file system a folder is on, read from the kernel's own list.
//!
//! SQLite's locks and its shared memory do not work across machines: on a network file system two processes can write at
//! the same time and the file is lost. So such a file is refused before it is opened.

use std::path::{Path, PathBuf};

/// File systems that are another machine's, as `/proc/self/mountinfo` names them. Not among them is `virtiofs`: what a virtual machine
/// has from its host is mostly its own, and within the one machine locks hold.
const NETWORK: &[&str] = &[
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "davfs",
    "fhgfs",
    "fuse.blobfuse",
    "fuse.blobfuse2",
    "fuse.ceph",
    "fuse.ceph-fuse",
    "fuse.curlftpfs",
    "fuse.davfs2",
    "fuse.gcsfuse",
    "fuse.glusterfs",
    "fuse.goofys",
    "fuse.gvfsd-fuse",
    "fuse.juicefs",
    "fuse.lizardfs",
    "fuse.mfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.seaweedfs",
    "fuse.smbnetfs",
    "fuse.sshfs",
    "fuse.vmhgfs-fuse",
    "glusterfs",
    "gpfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "orangefs",
    "panfs",
    "prl_fs",
    "pvfs2",
    "smb3",
    "smbfs",
    "vboxsf",
    "vmhgfs",
    "wekafs",
];

/// What is mounted where. No such list, no such check: only Linux has it.
pub(super) fn list() -> String {
    std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default()
}

/// The network file system that a folder or a file is on, if it is on one. `mountinfo` is the text of `/proc/self/mountinfo`,
/// `path` absolute and without links.
pub fn network_file_system(mountinfo: &str, path: &Path) -> Option<String> {
    // Of two mounts on one place the later hides the earlier.
    let mounts = mountinfo.lines().filter_map(mount).filter(|(place, _)| path.starts_with(place));
    let (_, sort) = mounts.max_by_key(|(place, _)| place.components().count())?;
    NETWORK.contains(&sort).then(|| sort.to_string())
}

/// `36 35 98:0 /root /place options shared:1 - ext4 /dev/sda1 rw`
fn mount(line: &str) -> Option<(PathBuf, &str)> {
    let (before, after) = line.split_once(" - ")?;
    let place = before.split(' ').nth(4)?;
    Some((PathBuf::from(unescape(place)), after.split(' ').next()?))
}

/// Spaces, tabs, line ends and backslashes stand as `\040`, `\011`, `\012` and `\134`.
fn unescape(place: &str) -> String {
    let mut parts = place.split('\\');
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match (code, part.get(3..)) {
            (Some(code), Some(rest)) => {
                text.push(char::from(code));
                text.push_str(rest);
            }
            _ => {
                text.push('\\');
                text.push_str(part);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:26 / /mnt/share rw,relatime shared:2 - nfs4 server:/share rw
31 22 0:27 / /mnt/my\\040disk rw - cifs //server/disk rw
32 22 0:28 / /home/a/remote rw - fuse.sshfs a@b: rw
36 22 0:30 / /mnt/gpfs rw - gpfs gpfs0 rw
37 22 0:31 / /mnt/host rw - fuse.vmhgfs-fuse vmhgfs-fuse rw
38 22 0:32 / /mnt/guest rw - virtiofs share rw
33 30 254:1 / /mnt/share/local rw - xfs /dev/vdb rw
34 22 0:29 / /data rw - nfs server:/data rw
35 22 254:2 / /data rw - ext4 /dev/vdc rw
";

    #[test]
    fn a_network_file_system_is_recognized_by_the_nearest_mount() {
        let found = |folder: &str| network_file_system(MOUNTS, Path::new(folder));
        assert_eq!(found("/var/lib/tenure"), None);
        assert_eq!(found("/mnt/share/tenure").as_deref(), Some("nfs4"));
        assert_eq!(found("/mnt/share/local/tenure"), None);
        assert_eq!(found("/mnt/shared"), None, "a name that only begins the same is another place");
        assert_eq!(found("/mnt/my disk").as_deref(), Some("cifs"));
        assert_eq!(found("/home/a/remote/deep/down").as_deref(), Some("fuse.sshfs"));
        assert_eq!(found("/mnt/gpfs/x").as_deref(), Some("gpfs"));
        assert_eq!(found("/mnt/host/x").as_deref(), Some("fuse.vmhgfs-fuse"));
        assert_eq!(found("/mnt/guest/x"), None, "mostly this machine's own");
        assert_eq!(found("/data"), None, "the later mount hides the earlier");
    }

    #[test]
    fn a_text_that_is_no_list_of_mounts_forbids_nothing() {
        assert_eq!(network_file_system("", Path::new("/")), None);
        assert_eq!(network_file_system("nonsense\n - \n\\9", Path::new("/")), None);
    }
}
