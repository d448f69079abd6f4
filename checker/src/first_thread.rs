//! What is the first thread's own, though no event allocates it: its stack and its thread-local variables
//! (`docs/SEMANTICS.md`, *External bytes*).

use std::ops::Range;
use trace_format::{ImageInfo, ModuleInfo, NOBODYS};

/// How far down from its end the first thread's stack may reach. The kernel keeps everything else 128 MiB away.
const DEPTH: u64 = 8 << 20;

/// The memory of the first thread alone, in stretches.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstThread {
    stretches: Vec<Range<u64>>,
}

impl FirstThread {
    pub(crate) fn of(images: &[ImageInfo], modules: &[ModuleInfo]) -> FirstThread {
        let mut stretches: Vec<Range<u64>> = local_variables(images).collect();
        stretches.push(first_stack(images, modules));
        stretches.retain(|stretch| !stretch.is_empty());
        FirstThread { stretches }
    }

    pub(crate) fn has(&self, addr: u64) -> bool {
        self.stretches.iter().any(|stretch| stretch.contains(&addr))
    }

    /// From its lowest byte to its highest.
    pub(crate) fn extent(&self) -> Range<u64> {
        let mut stretches = self.stretches.iter();
        let first = stretches.next().cloned().unwrap_or(0..0);
        stretches.fold(first, |all, next| all.start.min(next.start)..all.end.max(next.end))
    }
}

/// Its thread-local variables: what has images behind the second one of the recorder's own variables, and before the third.
fn local_variables(images: &[ImageInfo]) -> impl Iterator<Item = Range<u64>> {
    let mut marks = (0..).zip(images).filter(|(_, image)| image.addr == NOBODYS).skip(1);
    let (second, third) = (marks.next(), marks.next());
    let between = second
        .zip(third)
        .map_or(0..0, |((second, _), (third, _))| second..third);
    let variable = images[between]
        .iter()
        .filter(|image| image.addr != NOBODYS && image.bytes.is_some());
    variable.map(|image| image.addr..image.addr.saturating_add(image.size))
}

/// Where the first thread's stack is. The images of it follow that of the recorder's own variables, one above the other;
/// its deeper frames reach as far as nothing else is known to be there. Of a forked child, whose first thread may be any
/// thread of its parent, nothing is known: the kernel puts a program's stack above all that is loaded, and other stacks
/// below the loader.
fn first_stack(images: &[ImageInfo], modules: &[ModuleInfo]) -> Range<u64> {
    let mut behind = images.iter().skip_while(|image| image.addr != NOBODYS).skip(1);
    let is_told = |image: &&ImageInfo| image.bytes.is_some() && image.addr != NOBODYS;
    let Some(lowest) = behind.next().filter(is_told) else {
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
