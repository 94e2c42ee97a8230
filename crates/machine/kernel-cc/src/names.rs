//! What the kernel calls a control: letters, digits, `_` and `.`, at most 15 of them.

/// `TCP_CA_NAME_MAX` (net/tcp.h) without the final zero.
pub const LONGEST: usize = 15;

/// The name under which a control is loaded for everybody: `bbr-hsr` is `bbr_hsr`.
pub fn kernel_name(name: &str) -> String {
    name.chars().take(LONGEST).map(|c| if c == '-' { '_' } else { c }).collect()
}

/// The name of a process's own instance number `n`: `bbr_hsr.1f40.0`. What is too long loses the end of
/// the control's name.
pub fn private_name(name: &str, pid: u32, n: u32) -> String {
    let tail = format!(".{pid:x}.{n:x}");
    let room = LONGEST.saturating_sub(tail.len());
    let head: String = kernel_name(name).chars().take(room).collect();
    format!("{head}{tail}")
}

/// The process whose own instance this is, from the name.
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
    fn a_hyphen_is_an_underscore() {
        assert_eq!(kernel_name("bbr-hsr"), "bbr_hsr");
        assert_eq!(kernel_name("a-name-that-is-long").len(), LONGEST);
    }

    #[test]
    fn private_names_fit_and_tell_their_process() {
        assert_eq!(private_name("bbr-hsr", 8000, 0), "bbr_hsr.1f40.0");
        // The largest process id of 64-bit Linux, and more instances than a kernel can list.
        for n in [0, 15, 255] {
            let name = private_name("westwood", 4_194_304, n);
            assert!(name.len() <= LONGEST && name.starts_with("west"), "{name}");
            assert_eq!(owner(&name), Some(4_194_304));
        }
        assert_eq!(owner("bbr"), None);
        assert_eq!(owner("a.b.c.d"), None);
        assert_eq!(owner("a.x.0"), None);
    }
}
