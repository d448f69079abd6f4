//! `printf` and `scanf` formats: which of the arguments point to memory that the call reads or writes.

use super::library::{before_writes, length};
use crate::platform::real;
use crate::runtime::accesses::{arrives, reads, writes};
use crate::scheduling::plan;
use core::ffi::c_void;
use libc::c_char;

/// The arguments of a variadic function, as the x86-64 ABI lays out a `va_list`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Arguments {
    general: u32,
    floating: u32,
    overflow: *mut u8,
    saved: *mut u8,
}

impl Arguments {
    /// The next argument that fits into a general register.
    unsafe fn word(&mut self) -> u64 {
        const GENERAL_END: u32 = 48;
        // SAFETY: the caller follows the format, as the program does.
        unsafe {
            if self.general < GENERAL_END {
                let word = self.saved.add(self.general as usize).cast::<u64>().read();
                self.general += 8;
                word
            } else {
                self.stacked()
            }
        }
    }

    unsafe fn stacked(&mut self) -> u64 {
        // SAFETY: as in `word`.
        unsafe {
            let word = self.overflow.cast::<u64>().read();
            self.overflow = self.overflow.add(8);
            word
        }
    }

    unsafe fn skip_double(&mut self) {
        const FLOATING_END: u32 = 176;
        if self.floating < FLOATING_END {
            self.floating += 16;
        } else {
            // SAFETY: as in `word`.
            unsafe { self.stacked() };
        }
    }

    unsafe fn skip_long_double(&mut self) {
        let at = (self.overflow as usize).next_multiple_of(16);
        self.overflow = (at + 16) as *mut u8;
    }
}

/// The highest number of an argument that is followed.
const MOST_NUMBERED: usize = 32;

/// Where an argument is.
#[derive(Clone, Copy)]
enum Class {
    Word,
    Double,
    LongDouble,
}

/// One conversion of a format.
struct Conversion {
    /// The number of its argument, from 1, and of those of its width and its precision (`%2$*1$d`).
    number: Option<usize>,
    width_number: Option<usize>,
    precision_number: Option<usize>,
    /// `%*d` of scanf: nothing is stored.
    suppressed: bool,
    /// `%m[` of scanf: the place for the result is allocated.
    allocated: bool,
    /// The width, and `*` for it.
    width: Option<usize>,
    star_width: bool,
    precision: Option<usize>,
    star_precision: bool,
    /// Bytes of an integer.
    size: usize,
    long_double: bool,
    kind: u8,
}

impl Conversion {
    fn class(&self) -> Class {
        match self.kind {
            b'a' | b'e' | b'f' | b'g' | b'A' | b'E' | b'F' | b'G' if self.long_double => Class::LongDouble,
            b'a' | b'e' | b'f' | b'g' | b'A' | b'E' | b'F' | b'G' => Class::Double,
            _ => Class::Word,
        }
    }
}

/// Reads the formats of a string one by one.
struct Conversions<'a>(&'a [u8], Family);

#[derive(Clone, Copy, PartialEq)]
enum Family {
    Print,
    Scan,
}

impl Iterator for Conversions<'_> {
    type Item = Conversion;

    fn next(&mut self) -> Option<Conversion> {
        loop {
            let at = self.0.iter().position(|&byte| byte == b'%')?;
            self.0 = &self.0[at + 1..];
            if self.0.first() != Some(&b'%') {
                break;
            }
            self.0 = &self.0[1..];
        }
        let mut conversion = Conversion {
            number: self.position(),
            width_number: None,
            precision_number: None,
            suppressed: false,
            allocated: false,
            width: None,
            star_width: false,
            precision: None,
            star_precision: false,
            size: 4,
            long_double: false,
            kind: 0,
        };
        let scan = self.1 == Family::Scan;
        // In scanf a star suppresses, and an m allocates; in printf they are a width and a conversion.
        let flags: &[u8] = if scan { b"*'m" } else { b"-+ #0'I*" };
        while let Some(flag) = self.take(|byte| flags.contains(&byte)) {
            conversion.allocated |= flag == b'm';
            conversion.suppressed |= scan && flag == b'*';
            if !scan && flag == b'*' {
                conversion.star_width = true;
                conversion.width_number = self.position();
            }
        }
        conversion.width = self.number();
        if self.take(|byte| byte == b'.').is_some() {
            conversion.star_precision = self.take(|byte| byte == b'*').is_some();
            conversion.precision_number = conversion.star_precision.then(|| self.position()).flatten();
            conversion.precision = Some(self.number().unwrap_or(0));
        }
        while let Some(length) = self.take(|byte| b"hlLqjzt".contains(&byte) || scan && byte == b'm') {
            match length {
                b'h' => conversion.size /= 2,
                b'm' => conversion.allocated = true,
                b'L' => (conversion.size, conversion.long_double) = (8, true),
                _ => conversion.size = 8,
            }
        }
        conversion.kind = self.take(|_| true)?;
        if conversion.kind == b'[' {
            // The set ends at the first bracket that is not its first member.
            let skip = 1 + usize::from(self.0.first() == Some(&b'^'));
            let end = self.0.iter().skip(skip).position(|&byte| byte == b']')?;
            self.0 = &self.0[skip + end + 1..];
        }
        Some(conversion)
    }
}

impl Conversions<'_> {
    fn take(&mut self, wanted: impl Fn(u8) -> bool) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        wanted(first).then(|| {
            self.0 = rest;
            first
        })
    }

    /// `2$`
    fn position(&mut self) -> Option<usize> {
        let before = self.0;
        let number = self.number().filter(|&number| number > 0);
        match number.filter(|_| self.take(|byte| byte == b'$').is_some()) {
            None => {
                self.0 = before;
                None
            }
            number => number,
        }
    }

    fn number(&mut self) -> Option<usize> {
        let mut number = None;
        while let Some(digit) = self.take(|byte| byte.is_ascii_digit()) {
            number = Some(
                number
                    .unwrap_or(0_usize)
                    .saturating_mul(10)
                    .saturating_add((digit - b'0').into()),
            );
        }
        number
    }
}

/// What a call was given: in the order of the format, or by number.
struct Given {
    arguments: Arguments,
    numbered: [u64; MOST_NUMBERED],
}

impl Given {
    /// # Safety
    /// The arguments are those that the format asks for.
    unsafe fn of(format: &[u8], family: Family, arguments: *const Arguments) -> Given {
        // SAFETY: promised by the caller.
        let mut arguments = unsafe { *arguments };
        let mut classes = [Class::Word; MOST_NUMBERED];
        let mut count = 0;
        for conversion in Conversions(format, family) {
            let class = match family {
                Family::Print => conversion.class(),
                // Pointers, all of them.
                Family::Scan => Class::Word,
            };
            for (number, class) in [
                (conversion.number, class),
                (conversion.width_number, Class::Word),
                (conversion.precision_number, Class::Word),
            ] {
                if let Some(number) = number.filter(|&number| number <= MOST_NUMBERED) {
                    classes[number - 1] = class;
                    count = count.max(number);
                }
            }
        }
        let mut numbered = [0; MOST_NUMBERED];
        for (value, class) in numbered.iter_mut().zip(classes).take(count) {
            // SAFETY: where one is numbered, all are, and none is missing.
            unsafe {
                match class {
                    Class::Word => *value = arguments.word(),
                    Class::Double => arguments.skip_double(),
                    Class::LongDouble => arguments.skip_long_double(),
                }
            }
        }
        Given { arguments, numbered }
    }

    /// The next one, or that of a number; null beyond those that are followed.
    ///
    /// # Safety
    /// The format asks for it.
    unsafe fn word(&mut self, number: Option<usize>) -> u64 {
        match number {
            Some(number) => self.numbered.get(number - 1).copied().unwrap_or(0),
            // SAFETY: promised by the caller.
            None => unsafe { self.arguments.word() },
        }
    }

    /// # Safety
    /// The format asks for it.
    unsafe fn skip(&mut self, conversion: &Conversion) {
        // SAFETY: promised by the caller.
        unsafe {
            match conversion.class() {
                _ if conversion.number.is_some() => {}
                Class::Word => {
                    self.arguments.word();
                }
                Class::Double => self.arguments.skip_double(),
                Class::LongDouble => self.arguments.skip_long_double(),
            }
        }
    }
}

/// # Safety
/// `format` is a string.
unsafe fn bytes<'a>(format: *const c_char) -> &'a [u8] {
    // SAFETY: promised by the caller.
    unsafe { core::slice::from_raw_parts(format.cast(), length(format)) }
}

/// Records what a function of the printf family reads: the strings for `%s`.
///
/// # Safety
/// The arguments are those that the format asks for.
pub unsafe fn printed(format: *const c_char, arguments: *const Arguments, pc: usize) {
    // SAFETY: promised by the caller.
    unsafe {
        let format = bytes(format);
        let mut given = Given::of(format, Family::Print, arguments);
        for conversion in Conversions(format, Family::Print) {
            if conversion.star_width {
                given.word(conversion.width_number);
            }
            let precision = if conversion.star_precision {
                let precision = given.word(conversion.precision_number) as i32;
                usize::try_from(precision).ok()
            } else {
                conversion.precision
            };
            match conversion.kind {
                b's' if conversion.size == 4 => {
                    let text = given.word(conversion.number) as *const c_char;
                    if !text.is_null() {
                        let most = precision.unwrap_or(usize::MAX);
                        reads(text, real::strnlen(text, most).saturating_add(1).min(most), pc);
                    }
                }
                b'm' => {}
                _ => given.skip(&conversion),
            }
        }
    }
}

/// Along a plan, parks the thread if a function of the scanf family is about to make a racing write.
///
/// # Safety
/// The arguments are those that the format asks for.
pub unsafe fn before_scan(format: *const c_char, arguments: *const Arguments, pc: usize) {
    let mut targets = [None; 16];
    // SAFETY: promised by the caller.
    unsafe {
        let format = bytes(format);
        let mut given = Given::of(format, Family::Scan, arguments);
        let stored = Conversions(format, Family::Scan).filter(|conversion| !conversion.suppressed);
        for (target, conversion) in targets.iter_mut().zip(stored) {
            *target = Some(given.word(conversion.number) as usize);
        }
    }
    before_writes(pc, targets);
}

/// Where a function of the scanf family reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// In the program's memory.
    Text,
    /// In a stream: along a plan, the program gets what it got in the recorded run.
    Outside,
}

/// Records what a function of the scanf family has written, if it made `done` conversions.
///
/// # Safety
/// The arguments are those that the format asks for.
pub unsafe fn scanned(format: *const c_char, arguments: *const Arguments, done: i32, from: Source, pc: usize) {
    // SAFETY: promised by the caller.
    unsafe {
        let format = bytes(format);
        let mut given = Given::of(format, Family::Scan, arguments);
        let mut left = done;
        for conversion in Conversions(format, Family::Scan) {
            if conversion.suppressed {
                continue;
            }
            if left <= 0 && conversion.kind != b'n' {
                return;
            }
            let to = given.word(conversion.number) as *const c_void;
            if to.is_null() {
                continue;
            }
            let is_text = matches!(conversion.kind, b's' | b'[') && !conversion.allocated;
            if from == Source::Outside && is_text {
                plan::feed_text(to as usize, usize::MAX, pc);
            }
            let len = match conversion.kind {
                _ if conversion.allocated => size_of::<*mut c_void>(),
                b's' | b'[' => length(to.cast()) + 1,
                b'c' => conversion.width.unwrap_or(1),
                b'p' => 8,
                b'a' | b'e' | b'f' | b'g' | b'A' | b'E' | b'F' | b'G' if conversion.long_double => 10,
                b'i' | b'd' | b'u' | b'o' | b'x' | b'X' => conversion.size,
                _ => conversion.size,
            };
            match from {
                // An allocated one is at an address of this run.
                Source::Outside if !conversion.allocated => arrives(to, len, pc),
                _ => writes(to, len, pc),
            }
            if conversion.kind != b'n' {
                left -= 1;
            }
        }
    }
}
