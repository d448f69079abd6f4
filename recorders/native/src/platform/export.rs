//! Exported functions that know where they were called from.
//!
//! A hook needs its return address: the position in the program. Stable Rust cannot ask for it,
//! but a naked function can put it into the register of the argument behind the last.

/// Exports C functions under the given names, each a jump to a Rust function that takes the
/// return address as one more argument, in the named register: `rdi`, `rsi`, `rdx`, `rcx`, `r8`
/// or `r9`, the first that the C function's own arguments leave free. Where they leave none, it goes
/// behind them on the stack: `after_six`, `after_seven` or `after_eight` of them.
macro_rules! export {
    (@one $name:ident, $body:path, after_six) => {
        $crate::platform::export::export! { @code $name, $body,
            "push qword ptr [rsp]",
            "call {body}",
            "add rsp, 8",
            "ret",
        }
    };
    (@one $name:ident, $body:path, after_seven) => {
        $crate::platform::export::export! { @code $name, $body,
            // Keeps the stack aligned.
            "sub rsp, 8",
            "push qword ptr [rsp + 8]",
            "push qword ptr [rsp + 24]",
            "call {body}",
            "add rsp, 24",
            "ret",
        }
    };
    (@one $name:ident, $body:path, after_eight) => {
        $crate::platform::export::export! { @code $name, $body,
            "push qword ptr [rsp]",
            "push qword ptr [rsp + 24]",
            "push qword ptr [rsp + 24]",
            "call {body}",
            "add rsp, 24",
            "ret",
        }
    };
    (@one $name:ident, $body:path, $register:literal) => {
        $crate::platform::export::export! { @code $name, $body,
            concat!("mov ", $register, ", qword ptr [rsp]"),
            "jmp {body}",
        }
    };
    (@code $name:ident, $body:path, $($line:expr,)*) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!($($line,)* body = sym $body)
        }
    };
    ($($name:ident = $body:path, $place:tt;)*) => {
        $( $crate::platform::export::export! { @one $name, $body, $place } )*
    };
}
pub(crate) use export;
