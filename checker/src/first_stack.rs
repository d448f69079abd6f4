//! The first thread's stack, which no event allocates (`docs/SEMANTICS.md`, *External bytes*).

use std::ops::Range;
use trace_format::{ImageInfo, ModuleInfo, NOBODYS};

/// How far down from its end the first thread's stack may reach. The kernel keeps everything else 128 MiB away.
const DEPTH: u64 = 8 << 20;

/// Where the first thread's stack is. The images of it follow that of the recorder's own variables, one above the other;
/// its deeper frames reach as far as nothing else is known to be there. Of a forked child, whose first thread may be any
/// thread of its parent, nothing is known: the kernel puts a program's stack above all that is loaded, and other stacks
/// below the loader.
pub(crate) fn first_stack(images: &[ImageInfo], modules: &[ModuleInfo]) -> Range<u64> {
    let mut behind = images.iter().skip_while(|image| image.addr != NOBODYS).skip(1);
    let Some(lowest) = behind.next().filter(|image| image.bytes.is_some()) else {
        return 0..0;
    };
    if modules.iter().any(|module| module.start >= lowest.addr) {
        return 0..0;
    }
    let end_of = |image: &ImageInfo| image.addr.saturating_add(image.size);
    let mut end = end_of(lowest);
    for image in behind {
        if image.addr != end || image.bytes.is_none() {
            break;
        }
        end = end_of(image);
    }
    let mut start = end.saturating_sub(DEPTH);
    for other in images.iter().map(end_of).filter(|&other| other <= lowest.addr) {
        start = start.max(other);
    }
    start..end
}
