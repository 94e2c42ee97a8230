//! Names of congestion controls in the kernel: letters, digits, `_` and `.`, at most 15 bytes.

/// `TCP_CA_NAME_MAX` (net/tcp.h) without the terminating zero.
pub const MAX_NAME: usize = 15;

/// Returns the name of a control loaded for all users: `bbr-hsr` becomes `bbr_hsr`.
pub fn kernel_name(name: &str) -> String {
    name.chars().take(MAX_NAME).map(|c| if c == '-' { '_' } else { c }).collect()
}

/// Returns the name of a process's own instance number `n`: `bbr_hsr.1f40.0`. If it is too long, the
/// control's name is truncated.
pub fn private_name(name: &str, pid: u32, n: u32) -> String {
    let tail = format!(".{pid:x}.{n:x}");
    let room = MAX_NAME.saturating_sub(tail.len());
    let head: String = kernel_name(name).chars().take(room).collect();
    format!("{head}{tail}")
}

/// Returns the process that owns a private instance, from its name.
pub fn owner(kernel_name: &str) -> Option<u32> {
    let mut parts = kernel_name.split('.');
    let (_, pid, n) = (parts.next()?, parts.next()?, parts.next()?);
    u32::from_str_radix(n, 16).ok()?;
    parts.next().is_none().then(|| u32::from_str_radix(pid, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphens_become_underscores() {
        assert_eq!(kernel_name("bbr-hsr"), "bbr_hsr");
        assert_eq!(kernel_name("a-name-that-is-long").len(), MAX_NAME);
    }

    #[test]
    fn private_names_fit_and_identify_their_process() {
        assert_eq!(private_name("bbr-hsr", 8000, 0), "bbr_hsr.1f40.0");
        // The largest process id of 64-bit Linux, and more instances than a kernel can list.
        for n in [0, 15, 255] {
            let name = private_name("westwood", 4_194_304, n);
            assert!(name.len() <= MAX_NAME && name.starts_with("west"), "{name}");
            assert_eq!(owner(&name), Some(4_194_304));
        }
        assert_eq!(owner("bbr"), None);
        assert_eq!(owner("a.b.c.d"), None);
        assert_eq!(owner("a.x.0"), None);
    }
}
