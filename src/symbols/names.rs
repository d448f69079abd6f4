//! Names of functions and files as different tools write them.

/// The last part of a path.
#[must_use]
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether two names may be of one function. Tools differ in arguments, template arguments, return types, hashes,
/// and what the compiler added when it cloned one.
#[must_use]
pub fn same_function(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    let (a, b) = (bare(a), bare(b));
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with("::") || rest.ends_with('.'))
    };
    !a.is_empty() && !b.is_empty() && (ends(&a, &b) || ends(&b, &a))
}

/// A function's name without arguments, template arguments, return type, hash, and clone suffix.
#[must_use]
pub fn bare(name: &str) -> String {
    let name = name.split("@@").next().unwrap_or(name);
    let mut depth = 0_i32;
    let mut bare = String::new();
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            _ if depth > 0 => {}
            // A return type came before, unless it is `operator new`.
            ' ' if !bare.ends_with("operator") => {
                if letters.peek().is_some() && depth <= 0 {
                    bare.push(' ');
                }
            }
            letter => bare.push(letter),
        }
    }
    let bare = bare.trim_end_matches(" const").trim();
    let bare = if bare.contains("operator") {
        bare
    } else {
        bare.rsplit(' ').next().unwrap_or(bare)
    };
    let clone = [".constprop", ".part", ".isra", ".cold", ".lto_priv", ".llvm"];
    let end = clone
        .iter()
        .filter_map(|suffix| bare.find(suffix))
        .min()
        .unwrap_or(bare.len());
    let bare = &bare[..end];
    match bare.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => path.to_owned(),
        _ => bare.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_function() {
        for (a, b) in [
            ("writer", "writer"),
            ("writer(void*)", "writer"),
            ("void std::__invoke<void (*)(int), int>(int&&)", "std::__invoke"),
            ("ns::f<int>(int) const", "f"),
            ("f.constprop.0", "f"),
            ("app::worker::h0123456789abcdef", "app::worker"),
            ("operator new(unsigned long)", "operator new"),
            ("pthread_create@@GLIBC_2.34", "pthread_create"),
            ("main.(*counter).add", "main.(*counter).add"),
        ] {
            assert!(
                same_function(a, b) && same_function(b, a),
                "{a} and {b}: {} and {}",
                bare(a),
                bare(b)
            );
        }
        for (a, b) in [
            ("writer", "rewriter"),
            ("a::f", "b::f"),
            ("f", ""),
            ("operator new", "operator delete"),
        ] {
            assert!(!same_function(a, b), "{a} and {b}");
        }
    }
}
