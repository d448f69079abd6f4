//! The nodes of `std::list`.

#![expect(non_snake_case, reason = "the names of C++'s functions are mangled")]

use crate::runtime::accesses::{reads, writes};
use core::ptr;

/// A node, or the list itself, which is before its first node and behind its last.
#[repr(C)]
pub struct Node {
    next: *mut Node,
    prev: *mut Node,
}

/// The bytes of one of its pointers.
const LINK: usize = size_of::<*mut Node>();

/// Whether a list has no nodes, which is read.
unsafe fn is_empty(list: *const Node, pc: usize) -> bool {
    reads(list, LINK, pc);
    // SAFETY: the program's own list.
    unsafe { ptr::eq((*list).next, list) }
}

/// A list has the nodes that another had before: it is told to its first and last ones.
unsafe fn took_nodes(list: *mut Node, pc: usize) {
    writes(list, size_of::<Node>(), pc);
    // SAFETY: the program's own list.
    unsafe {
        if !ptr::eq((*list).next, list) {
            writes(&raw const (*(*list).next).prev, LINK, pc);
            writes(&raw const (*(*list).prev).next, LINK, pc);
        }
    }
}

library! {
    // `_List_node_base::_M_hook(_List_node_base*)`
    _ZNSt8__detail15_List_node_base7_M_hookEPS0_(node: *mut Node, behind: *mut Node) -> (), "rdx": quick {
        reads(&raw const (*behind).prev, LINK, pc);
    } (result, pc) {
        writes(node, size_of::<Node>(), pc);
        writes(&raw const (*(*node).prev).next, LINK, pc);
        writes(&raw const (*behind).prev, LINK, pc);
    }
    // `_M_unhook()`
    _ZNSt8__detail15_List_node_base9_M_unhookEv(node: *mut Node) -> (), "rsi": quick {
        reads(node, size_of::<Node>(), pc);
    } (result, pc) {
        writes(&raw const (*(*node).prev).next, LINK, pc);
        writes(&raw const (*(*node).next).prev, LINK, pc);
    }
    // `_M_transfer(_List_node_base* first, _List_node_base* last)`
    _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(
        behind: *mut Node, first: *mut Node, last: *mut Node) -> (), "rcx": quick {
        let before = [behind, first, last].map(|node| (*node).prev);
        if behind != last {
            for node in [last, first, behind] { reads(&raw const (*node).prev, LINK, pc); }
        }
    } (result, pc) {
        if behind != last {
            for node in before { writes(&raw const (*node).next, LINK, pc); }
            for node in [behind, last, first] { writes(&raw const (*node).prev, LINK, pc); }
        }
    }
    // `_M_reverse()`
    _ZNSt8__detail15_List_node_base10_M_reverseEv(list: *mut Node) -> (), "rsi": quick {
        let mut node = list;
        loop {
            reads(node, size_of::<Node>(), pc);
            node = (*node).next;
            if node == list { break; }
        }
    } (result, pc) {
        let mut node = list;
        loop {
            writes(node, size_of::<Node>(), pc);
            node = (*node).prev;
            if node == list { break; }
        }
    }
    // `swap(_List_node_base&, _List_node_base&)`
    _ZNSt8__detail15_List_node_base4swapERS0_S1_(one: *mut Node, other: *mut Node) -> (), "rdx": quick {
        let are_empty = is_empty(one, pc) & is_empty(other, pc);
    } (result, pc) {
        if !are_empty {
            took_nodes(one, pc);
            took_nodes(other, pc);
        }
    }
}
