//! `printf`, `scanf`, and reading and writing streams.
//!
//! The streams' own buffers and locks are libc's business: no access of the program touches them.

use super::channels;
use super::format::{Arguments, Source, before_scan, printed, scanned};
use super::library::{reads_text, writes_text};
use crate::runtime::accesses::{arrives, passes, reads, writes};
use crate::runtime::guard::{restore_errno, save_errno};
use crate::scheduling::plan;
use crate::scheduling::thread::slot;
use core::cell::Cell;
use core::ffi::c_void;
use libc::{FILE, c_char, c_int, c_long, off_t, ssize_t};

/// What a bounded print has written: at most `room` bytes with the end.
fn kept(len: c_int, room: usize) -> usize {
    if len < 0 { 0 } else { (len as usize + 1).min(room) }
}

crate::platform::real::real! {
    fn fileno(stream: *mut FILE) -> c_int;
}

/// The descriptor that a stream writes to or reads from; a negative number if there is none.
unsafe fn descriptor(stream: *mut FILE) -> c_int {
    let errno = save_errno();
    // SAFETY: the program's own stream.
    let file = unsafe { fileno(stream) };
    restore_errno(errno);
    file
}

/// The calling thread is about to write to a stream, or to have what it keeps written.
unsafe fn to_stream(stream: *mut FILE, pc: usize) {
    LAST_WRITER.0.set((0, 0));
    // SAFETY: promised by the caller.
    channels::stream_writes(unsafe { descriptor(stream) }, pc);
}

/// The same of one byte. Of a regular file this is recorded only if the byte may be written by this call, or if another
/// thread wrote to a stream last: what nobody else can see yet orders nothing.
unsafe fn byte_to_stream(stream: *mut FILE, pc: usize) {
    // SAFETY: promised by the caller; the C library's layout of a stream, which its macros make part of programs.
    let (file, has_room) = unsafe {
        let field = |offset: usize| stream.byte_add(offset).cast::<usize>().read();
        (descriptor(stream), field(WRITE_POINTER) < field(WRITE_END))
    };
    let me = (stream as usize, slot() as usize);
    let goes_on = LAST_WRITER.0.replace(me) == me;
    if !(goes_on && has_room && channels::is_no_channel(file)) {
        channels::stream_writes(file, pc);
    }
}

/// Offsets of `_IO_write_ptr` and `_IO_write_end`.
const WRITE_POINTER: usize = 40;
const WRITE_END: usize = 48;

/// The stream that a byte was written to last, and the thread.
struct LastWriter(Cell<(usize, usize)>);

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for LastWriter {}

static LAST_WRITER: LastWriter = LastWriter(Cell::new((0, 0)));

/// The calling thread has read from a stream.
unsafe fn from_stream(stream: *mut FILE, pc: usize) {
    // SAFETY: promised by the caller.
    channels::stream_reads(unsafe { descriptor(stream) }, pc);
}

/// The same of standard output and standard input.
fn to_output(pc: usize) {
    channels::stream_writes(libc::STDOUT_FILENO, pc);
}

fn from_input(pc: usize) {
    channels::stream_reads(libc::STDIN_FILENO, pc);
}

/// A function is about to read a line into a buffer that it may enlarge.
fn looks_for_room(line: *const *mut c_char, room: *const usize, pc: usize) {
    reads(line, size_of::<*mut c_char>(), pc);
    reads(room, size_of::<usize>(), pc);
}

/// It has read so many characters; at the end, or in vain, less than none. How many the program gets to see.
///
/// # Safety
/// `line` is valid if there are any.
unsafe fn has_line(line: *const *mut c_char, room: *const usize, len: ssize_t, pc: usize) -> ssize_t {
    writes(line, size_of::<*mut c_char>(), pc);
    writes(room, size_of::<usize>(), pc);
    let Ok(whole) = usize::try_from(len) else { return len };
    // SAFETY: promised by the caller.
    let (text, room) = unsafe { (*line, *room) };
    match plan::feed_text(text as usize, room, pc) {
        Some(whole) => {
            writes(text, whole, pc);
            whole as ssize_t - 1
        }
        None => {
            writes(text, whole + 1, pc);
            len
        }
    }
}

/// A function has read a line into so much room, or found none. Along a plan, the program gets the line of the recorded
/// run.
///
/// # Safety
/// There is so much room; `line` is null, or that place.
unsafe fn line_arrives(line: *mut c_char, to: *mut c_char, room: c_int, pc: usize) -> *mut c_char {
    let room = usize::try_from(room).unwrap_or(0);
    let line = match plan::feed_text(to as usize, room, pc) {
        Some(_) => to,
        None => line,
    };
    // SAFETY: promised by the caller.
    unsafe { writes_text(line, pc) };
    line
}

library! {
    fflush(stream: *mut FILE) -> c_int, "rsi": slow {
        if !stream.is_null() { to_stream(stream, pc); }
    } (result, pc) {}
    fclose(stream: *mut FILE) -> c_int, "rsi": slow { to_stream(stream, pc); } (result, pc) {}
    popen(command: *const c_char, mode: *const c_char) -> *mut FILE, "rdx": slow {
        reads_text(command, pc);
        reads_text(mode, pc);
        channels::starts_child(pc);
    } (stream, pc) {}
    pclose(stream: *mut FILE) -> c_int, "rsi": away { to_stream(stream, pc); } (status, pc) {
        channels::child_ended(pc);
    }
    vprintf(format: *const c_char, list: *mut Arguments) -> c_int, "rdx": slow {
        printed(format, list, pc);
        to_output(pc);
    } (len, pc) {}
    vfprintf(to: *mut FILE, format: *const c_char, list: *mut Arguments) -> c_int, "rcx": slow {
        printed(format, list, pc);
        to_stream(to, pc);
    } (len, pc) {}
    vdprintf(to: c_int, format: *const c_char, list: *mut Arguments) -> c_int, "rcx": slow {
        printed(format, list, pc);
        channels::sends(to, 0, pc);
    } (len, pc) {}
    vsprintf(to: *mut c_char, format: *const c_char, list: *mut Arguments) -> c_int, "rcx": slow {
        printed(format, list, pc);
    } (len, pc) { writes(to, kept(len, usize::MAX), pc); }
    vsnprintf(to: *mut c_char, room: usize, format: *const c_char, list: *mut Arguments) -> c_int, "r8": slow {
        printed(format, list, pc);
    } (len, pc) { writes(to, kept(len, room), pc); }
    vasprintf(to: *mut *mut c_char, format: *const c_char, list: *mut Arguments) -> c_int, "rcx": slow {
        printed(format, list, pc);
    } (len, pc) {
        writes(to, size_of::<*mut c_char>(), pc);
        if len >= 0 {
            writes(*to, len as usize + 1, pc);
        }
    }
    __vprintf_chk(flag: c_int, format: *const c_char, list: *mut Arguments) -> c_int, "rcx": slow {
        printed(format, list, pc);
        to_output(pc);
    } (len, pc) {}
    __vfprintf_chk(to: *mut FILE, flag: c_int, format: *const c_char, list: *mut Arguments) -> c_int, "r8": slow {
        printed(format, list, pc);
        to_stream(to, pc);
    } (len, pc) {}
    __vsprintf_chk(to: *mut c_char, flag: c_int, size: usize, format: *const c_char, list: *mut Arguments) -> c_int, "r9": slow {
        printed(format, list, pc);
    } (len, pc) { writes(to, kept(len, usize::MAX), pc); }
    __vsnprintf_chk(to: *mut c_char, room: usize, flag: c_int, size: usize, format: *const c_char, list: *mut Arguments) -> c_int, after_six: slow {
        printed(format, list, pc);
    } (len, pc) { writes(to, kept(len, room), pc); }
    __vdprintf_chk(to: c_int, flag: c_int, format: *const c_char, list: *mut Arguments) -> c_int, "r8": slow {
        printed(format, list, pc);
        channels::sends(to, 0, pc);
    } (len, pc) {}
    __vasprintf_chk(to: *mut *mut c_char, flag: c_int, format: *const c_char, list: *mut Arguments) -> c_int, "r8": slow {
        printed(format, list, pc);
    } (len, pc) {
        writes(to, size_of::<*mut c_char>(), pc);
        if len >= 0 {
            writes(*to, len as usize + 1, pc);
        }
    }
    vsscanf(from: *const c_char, format: *const c_char, list: *mut Arguments) -> c_int, "rcx": slow {
        reads_text(from, pc);
        let given = *list;
        before_scan(format, list, pc);
    } (done, pc) { scanned(format, &given, done, Source::Text, pc); }
    vfscanf(from: *mut FILE, format: *const c_char, list: *mut Arguments) -> c_int, "rcx": slow {
        let given = *list;
        before_scan(format, list, pc);
    } (done, pc) {
        from_stream(from, pc); scanned(format, &given, done, Source::Outside, pc); }
    vscanf(format: *const c_char, list: *mut Arguments) -> c_int, "rdx": slow {
        let given = *list;
        before_scan(format, list, pc);
    } (done, pc) {
        from_input(pc); scanned(format, &given, done, Source::Outside, pc); }
    __isoc99_vsscanf(from: *const c_char, format: *const c_char, list: *mut Arguments) -> c_int, "rcx": slow {
        reads_text(from, pc);
        let given = *list;
        before_scan(format, list, pc);
    } (done, pc) { scanned(format, &given, done, Source::Text, pc); }
    __isoc99_vfscanf(from: *mut FILE, format: *const c_char, list: *mut Arguments) -> c_int, "rcx": slow {
        let given = *list;
        before_scan(format, list, pc);
    } (done, pc) {
        from_stream(from, pc); scanned(format, &given, done, Source::Outside, pc); }
    __isoc99_vscanf(format: *const c_char, list: *mut Arguments) -> c_int, "rdx": slow {
        let given = *list;
        before_scan(format, list, pc);
    } (done, pc) {
        from_input(pc); scanned(format, &given, done, Source::Outside, pc); }

    puts(text: *const c_char) -> c_int, "rsi": slow {
        reads_text(text, pc);
        to_output(pc);
    } (result, pc) {}
    fputs(text: *const c_char, to: *mut FILE) -> c_int, "rdx": slow {
        reads_text(text, pc);
        to_stream(to, pc);
    } (result, pc) {}
    fwrite(from: *const c_void, size: usize, count: usize, to: *mut FILE) -> usize, "r8": slow {
        passes(from, size.saturating_mul(count), pc);
        to_stream(to, pc);
    } (done, pc) {}
    fread(to: *mut c_void, size: usize, count: usize, from: *mut FILE) -> usize, "r8": slow {} (done, pc) {
        from_stream(from, pc);
        arrives(to, size * done, pc);
    }
    __fread_chk(to: *mut c_void, room: usize, size: usize, count: usize, from: *mut FILE) -> usize, "r9": slow {} (done, pc) {
        from_stream(from, pc);
        arrives(to, size * done, pc);
    }
    fgets(to: *mut c_char, size: c_int, from: *mut FILE) -> *mut c_char, "rcx": slow {} (line, pc) {
        from_stream(from, pc);
        line = line_arrives(line, to, size, pc);
    }
    __fgets_chk(to: *mut c_char, room: usize, size: c_int, from: *mut FILE) -> *mut c_char, "r8": slow {} (line, pc) {
        from_stream(from, pc);
        line = line_arrives(line, to, size, pc);
    }
    fgetc(from: *mut FILE) -> c_int, "rsi": slow {} (result, pc) { from_stream(from, pc); }
    getc(from: *mut FILE) -> c_int, "rsi": slow {} (result, pc) { from_stream(from, pc); }
    getchar() -> c_int, "rdi": slow {} (result, pc) { from_input(pc); }
    fgetc_unlocked(from: *mut FILE) -> c_int, "rsi": slow {} (result, pc) { from_stream(from, pc); }
    getc_unlocked(from: *mut FILE) -> c_int, "rsi": slow {} (result, pc) { from_stream(from, pc); }
    getchar_unlocked() -> c_int, "rdi": slow {} (result, pc) { from_input(pc); }
    getw(from: *mut FILE) -> c_int, "rsi": slow {} (result, pc) { from_stream(from, pc); }
    __uflow(from: *mut FILE) -> c_int, "rsi": slow {} (result, pc) { from_stream(from, pc); }
    fputc(byte: c_int, to: *mut FILE) -> c_int, "rdx": slow { byte_to_stream(to, pc); } (result, pc) {}
    putc(byte: c_int, to: *mut FILE) -> c_int, "rdx": slow { byte_to_stream(to, pc); } (result, pc) {}
    putchar(byte: c_int) -> c_int, "rsi": slow { to_output(pc); } (result, pc) {}
    fputc_unlocked(byte: c_int, to: *mut FILE) -> c_int, "rdx": slow { byte_to_stream(to, pc); } (result, pc) {}
    putc_unlocked(byte: c_int, to: *mut FILE) -> c_int, "rdx": slow { byte_to_stream(to, pc); } (result, pc) {}
    putchar_unlocked(byte: c_int) -> c_int, "rsi": slow { to_output(pc); } (result, pc) {}
    putw(word: c_int, to: *mut FILE) -> c_int, "rdx": slow { to_stream(to, pc); } (result, pc) {}
    __overflow(to: *mut FILE, byte: c_int) -> c_int, "rdx": slow { to_stream(to, pc); } (result, pc) {}
    fputs_unlocked(text: *const c_char, to: *mut FILE) -> c_int, "rdx": slow { reads_text(text, pc); to_stream(to, pc); } (result, pc) {}
    fflush_unlocked(stream: *mut FILE) -> c_int, "rsi": slow { if !stream.is_null() { to_stream(stream, pc); } } (result, pc) {}
    ungetc(byte: c_int, from: *mut FILE) -> c_int, "rdx": slow {} (result, pc) { from_stream(from, pc); }
    fwrite_unlocked(from: *const c_void, size: usize, count: usize, to: *mut FILE) -> usize, "r8": slow {
        passes(from, size.saturating_mul(count), pc);
        to_stream(to, pc);
    } (done, pc) {}
    fread_unlocked(to: *mut c_void, size: usize, count: usize, from: *mut FILE) -> usize, "r8": slow {} (done, pc) {
        from_stream(from, pc);
        arrives(to, size * done, pc);
    }
    __fread_unlocked_chk(to: *mut c_void, room: usize, size: usize, count: usize, from: *mut FILE) -> usize, "r9": slow {} (done, pc) {
        from_stream(from, pc);
        arrives(to, size * done, pc);
    }
    __fgets_unlocked_chk(to: *mut c_char, room: usize, size: c_int, from: *mut FILE) -> *mut c_char, "r8": slow {} (line, pc) {
        from_stream(from, pc);
        line = line_arrives(line, to, size, pc);
    }
    fgets_unlocked(to: *mut c_char, size: c_int, from: *mut FILE) -> *mut c_char, "rcx": slow {} (line, pc) {
        from_stream(from, pc);
        line = line_arrives(line, to, size, pc);
    }
    fseek(stream: *mut FILE, to: c_long, from: c_int) -> c_int, "rcx": slow { to_stream(stream, pc); } (result, pc) { from_stream(stream, pc); }
    fseeko(stream: *mut FILE, to: off_t, from: c_int) -> c_int, "rcx": slow { to_stream(stream, pc); } (result, pc) { from_stream(stream, pc); }
    fseeko64(stream: *mut FILE, to: off_t, from: c_int) -> c_int, "rcx": slow { to_stream(stream, pc); } (result, pc) { from_stream(stream, pc); }
    rewind(stream: *mut FILE) -> (), "rsi": slow { to_stream(stream, pc); } (nothing, pc) { from_stream(stream, pc); }
    ftell(stream: *mut FILE) -> c_long, "rsi": slow {} (at, pc) { from_stream(stream, pc); }
    ftello(stream: *mut FILE) -> off_t, "rsi": slow {} (at, pc) { from_stream(stream, pc); }
    ftello64(stream: *mut FILE) -> off_t, "rsi": slow {} (at, pc) { from_stream(stream, pc); }
    getline(line: *mut *mut c_char, room: *mut usize, from: *mut FILE) -> ssize_t, "rcx": slow { looks_for_room(line, room, pc); } (len, pc) {
        from_stream(from, pc);
        len = has_line(line, room, len, pc);
    }
    getdelim(line: *mut *mut c_char, room: *mut usize, last: c_int, from: *mut FILE) -> ssize_t, "r8": slow { looks_for_room(line, room, pc); } (len, pc) {
        from_stream(from, pc);
        len = has_line(line, room, len, pc);
    }
    __getdelim(line: *mut *mut c_char, room: *mut usize, last: c_int, from: *mut FILE) -> ssize_t, "r8": slow { looks_for_room(line, room, pc); } (len, pc) {
        from_stream(from, pc);
        len = has_line(line, room, len, pc);
    }
}

/// Exports variadic functions: each saves its argument registers as a `va_list` and calls the body
/// with its own arguments, the list and the return address.
///
/// The registers are those of the list and of the return address: the first two that the named
/// arguments leave free; the number is eight times that of the named arguments.
macro_rules! variadic {
    ($($name:ident = $body:path, $list:literal, $pc:literal, $named:literal;)*) => { $(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!(
                "sub rsp, 216",
                "mov [rsp + 32], rdi",
                "mov [rsp + 40], rsi",
                "mov [rsp + 48], rdx",
                "mov [rsp + 56], rcx",
                "mov [rsp + 64], r8",
                "mov [rsp + 72], r9",
                "movaps [rsp + 80], xmm0",
                "movaps [rsp + 96], xmm1",
                "movaps [rsp + 112], xmm2",
                "movaps [rsp + 128], xmm3",
                "movaps [rsp + 144], xmm4",
                "movaps [rsp + 160], xmm5",
                "movaps [rsp + 176], xmm6",
                "movaps [rsp + 192], xmm7",
                concat!("mov dword ptr [rsp], ", $named),
                "mov dword ptr [rsp + 4], 48",
                "lea rax, [rsp + 224]",
                "mov [rsp + 8], rax",
                "lea rax, [rsp + 32]",
                "mov [rsp + 16], rax",
                concat!("mov ", $list, ", rsp"),
                concat!("mov ", $pc, ", [rsp + 216]"),
                "call {body}",
                "add rsp, 216",
                "ret",
                body = sym $body,
            )
        }
    )* };
}

variadic! {
    printf = vprintf::body, "rsi", "rdx", "8";
    fprintf = vfprintf::body, "rdx", "rcx", "16";
    dprintf = vdprintf::body, "rdx", "rcx", "16";
    sprintf = vsprintf::body, "rdx", "rcx", "16";
    snprintf = vsnprintf::body, "rcx", "r8", "24";
    asprintf = vasprintf::body, "rdx", "rcx", "16";
    __printf_chk = __vprintf_chk::body, "rdx", "rcx", "16";
    __fprintf_chk = __vfprintf_chk::body, "rcx", "r8", "24";
    __dprintf_chk = __vdprintf_chk::body, "rcx", "r8", "24";
    __asprintf_chk = __vasprintf_chk::body, "rcx", "r8", "24";
    __sprintf_chk = __vsprintf_chk::body, "r8", "r9", "32";
    sscanf = vsscanf::body, "rdx", "rcx", "16";
    fscanf = vfscanf::body, "rdx", "rcx", "16";
    scanf = vscanf::body, "rsi", "rdx", "8";
    __isoc99_sscanf = __isoc99_vsscanf::body, "rdx", "rcx", "16";
    __isoc99_fscanf = __isoc99_vfscanf::body, "rdx", "rcx", "16";
    __isoc99_scanf = __isoc99_vscanf::body, "rsi", "rdx", "8";
    __snprintf_chk = bounded_checked, "r9", "rax", "40";
}

/// All six registers are taken: the return address lies where the list's caller left it.
unsafe extern "C-unwind" fn bounded_checked(
    to: *mut c_char,
    room: usize,
    flag: c_int,
    size: usize,
    format: *const c_char,
    list: *mut Arguments,
) -> c_int {
    // SAFETY: `variadic!` keeps the list at the bottom of a frame of 216 bytes, below the return address.
    unsafe {
        let pc = list.byte_add(216).cast::<usize>().read();
        __vsnprintf_chk::body(to, room, flag, size, format, list, pc)
    }
}
