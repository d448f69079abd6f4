//! What gcc has to be told so that it instruments all that a program does, and whether it was told: its flags stand in
//! the debug information.

use object::{Object, ObjectSection};

/// gcc expands short copies and comparisons in place after it has instrumented the code: nobody would see them.
const CALLS: &str = "-fno-builtin";
/// Where gcc finds out that a function does not keep a pointer, it does not instrument its caller's stores to what is
/// pointed to; the function's reads would see what nobody wrote.
const FRAMES: &str = "-fno-ipa-modref";
/// The first version that does so, and has that flag.
const FRAMES_SINCE: u32 = 11;
/// gcc takes it that a function with atomic operations alone changes no static variable: it moves loads of these across
/// calls of it, and uses a value from before the lock was taken that the function makes of an atomic. The runtime reads
/// the value that is there.
const STATICS: &str = "-fno-ipa-reference";

/// The flags that a version of gcc needs, beside `-fsanitize=thread`.
#[must_use]
pub fn gcc_flags(major: u32) -> Vec<&'static str> {
    let frames = (major >= FRAMES_SINCE).then_some(FRAMES);
    [CALLS, STATICS].into_iter().chain(frames).collect()
}

/// Whether gcc has instrumented some of a module without flags that it needs.
pub(super) fn lacks_flags(file: &object::File<'_>) -> bool {
    let strings = file.section_by_name(".debug_str");
    let Some(strings) = strings.and_then(|section| section.uncompressed_data().ok()) else {
        return false;
    };
    let mut strings = strings.split(|&byte| byte == 0);
    strings.any(|string| str::from_utf8(string).is_ok_and(producer_lacks_flags))
}

/// The same of one compiler, as it names itself: `GNU C17 12.2.0 -O2 -g -fsanitize=thread`.
fn producer_lacks_flags(producer: &str) -> bool {
    let mut words = producer.split_whitespace();
    let (Some("GNU"), Some(_), Some(version)) = (words.next(), words.next(), words.next()) else {
        return false;
    };
    let flags: Vec<&str> = words.collect();
    let major = version.split('.').next().and_then(|major| major.parse().ok());
    let optimizes = flags.iter().any(|flag| flag.starts_with("-O") && *flag != "-O0");
    let needed = gcc_flags(major.unwrap_or(0));
    optimizes && flags.contains(&"-fsanitize=thread") && !needed.iter().all(|flag| flags.contains(flag))
}

#[cfg(test)]
mod tests {
    use super::producer_lacks_flags;

    #[test]
    fn gcc_says_how_it_was_called() {
        for (producer, lacks) in [
            ("GNU C17 12.2.0 -mtune=generic -g -O2 -fsanitize=thread", true),
            ("GNU C17 12.2.0 -g -O2 -fsanitize=thread -fno-builtin", true),
            (
                "GNU C++17 12.2.0 -g -O2 -fsanitize=thread -fno-builtin-memcpy -fno-ipa-modref",
                true,
            ),
            (
                "GNU C17 12.2.0 -g -O2 -fsanitize=thread -fno-builtin -fno-ipa-reference -fno-ipa-modref",
                false,
            ),
            (
                "GNU C17 12.2.0 -g -O2 -fsanitize=thread -fno-builtin -fno-ipa-modref",
                true,
            ),
            ("GNU C17 10.2.1 -g -O2 -fsanitize=thread -fno-builtin", true),
            (
                "GNU C17 10.2.1 -g -O2 -fsanitize=thread -fno-builtin -fno-ipa-reference",
                false,
            ),
            ("GNU C17 10.2.1 -g -O2 -fsanitize=thread -fno-builtin-memset", true),
            ("GNU C17 12.2.0 -g -O2", false),
            ("GNU C17 12.2.0 -g -fsanitize=thread", false),
            ("GNU General Public License", false),
            ("clang version 14.0.6 -O2 -fsanitize=thread", false),
        ] {
            assert_eq!(producer_lacks_flags(producer), lacks, "{producer}");
        }
    }
}
