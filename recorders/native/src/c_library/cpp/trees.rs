//! The nodes of `std::map`, `std::set` and their kin: red-black trees (Guibas and Sedgewick, FOCS 1978; the cases are those
//! of Cormen, Leiserson, Rivest and Stein, *Introduction to Algorithms*, chapter 13).
//!
//! Which nodes a call reads and writes, it decides on its way. So it is done here, as libstdc++'s nodes have it, and not
//! there.

use crate::platform::export::export;
use crate::runtime::accesses::{enter, reads, writes};
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::plan;
use core::ptr;
use recorder_ring::plan::kind;

/// A node; null for none. The tree's own, its *header*, has the root as its parent, and the first and the last node as its
/// children.
type Node = *mut Fields;

#[repr(C)]
pub struct Fields {
    color: u32,
    parent: Node,
    /// Left and right.
    children: [Node; 2],
}

const RED: u32 = 0;
const BLACK: u32 = 1;
const LEFT: usize = 0;
const RIGHT: usize = 1;

/// Accesses to nodes, recorded if the caller is.
struct Access {
    inside: Option<RuntimeGuard>,
    pc: usize,
}

impl Access {
    fn by(pc: usize) -> Access {
        Access { inside: enter(pc), pc }
    }

    /// For a call that changes nodes, wherever they are.
    fn changing(pc: usize) -> Access {
        let access = Access::by(pc);
        if access.inside.is_some() {
            plan::before_call(pc, &[kind::WRITE], &[(1, usize::MAX - 1)]);
        }
        access
    }

    /// # Safety
    /// It is a field of a node.
    unsafe fn get<T: Copy>(&self, field: *const T) -> T {
        if self.inside.is_some() {
            reads(field, size_of::<T>(), self.pc);
        }
        // SAFETY: promised by the caller.
        unsafe { field.read() }
    }

    /// # Safety
    /// It is a field of a node.
    unsafe fn set<T: Copy>(&self, field: *mut T, value: T) {
        // SAFETY: promised by the caller.
        unsafe { field.write(value) };
        if self.inside.is_some() {
            writes(field, size_of::<T>(), self.pc);
        }
    }

    unsafe fn parent(&self, node: Node) -> Node {
        // SAFETY: a node.
        unsafe { self.get(&raw const (*node).parent) }
    }

    unsafe fn set_parent(&self, node: Node, parent: Node) {
        // SAFETY: a node.
        unsafe { self.set(&raw mut (*node).parent, parent) }
    }

    unsafe fn child(&self, node: Node, side: usize) -> Node {
        // SAFETY: a node.
        unsafe { self.get((&raw const (*node).children).cast::<Node>().add(side)) }
    }

    unsafe fn set_child(&self, node: Node, side: usize, child: Node) {
        // SAFETY: a node.
        unsafe { self.set((&raw mut (*node).children).cast::<Node>().add(side), child) }
    }

    /// Where there is no node, it is black.
    unsafe fn color(&self, node: Node) -> u32 {
        if node.is_null() {
            return BLACK;
        }
        // SAFETY: a node.
        unsafe { self.get(&raw const (*node).color) }
    }

    unsafe fn set_color(&self, node: Node, color: u32) {
        // SAFETY: a node.
        unsafe { self.set(&raw mut (*node).color, color) }
    }

    /// The last node on one side of a node.
    unsafe fn last(&self, mut node: Node, side: usize) -> Node {
        loop {
            // SAFETY: a node.
            let next = unsafe { self.child(node, side) };
            if next.is_null() {
                return node;
            }
            node = next;
        }
    }

    /// What comes next on one side of a node that has no child there: the first that it is not on that side of, and the
    /// one below it on the way.
    unsafe fn above(&self, mut node: Node, side: usize) -> (Node, Node) {
        // SAFETY: nodes, of which the header ends the way.
        unsafe {
            let mut parent = self.parent(node);
            while self.child(parent, side) == node {
                node = parent;
                parent = self.parent(parent);
            }
            (parent, node)
        }
    }

    /// Puts another node, or none, below the parent of one in its place.
    unsafe fn replace(&self, header: Node, old: Node, new: Node) {
        // SAFETY: nodes of the tree.
        unsafe {
            if self.parent(header) == old {
                self.set_parent(header, new);
                return;
            }
            let above = self.parent(old);
            let side = if self.child(above, LEFT) == old { LEFT } else { RIGHT };
            self.set_child(above, side, new);
        }
    }

    /// Turns a node down to one side, and its child of the other side up.
    unsafe fn rotate(&self, header: Node, node: Node, side: usize) {
        // SAFETY: nodes of the tree.
        unsafe {
            let up = self.child(node, 1 - side);
            let inner = self.child(up, side);
            self.set_child(node, 1 - side, inner);
            if !inner.is_null() {
                self.set_parent(inner, node);
            }
            self.set_parent(up, self.parent(node));
            self.replace(header, node, up);
            self.set_child(up, side, node);
            self.set_parent(node, up);
        }
    }

    unsafe fn insert(&self, side: usize, node: Node, parent: Node, header: Node) {
        // SAFETY: nodes of the tree, and a new one.
        unsafe {
            self.set_parent(node, parent);
            self.set_child(node, LEFT, ptr::null_mut());
            self.set_child(node, RIGHT, ptr::null_mut());
            self.set_color(node, RED);
            let is_outermost = parent != header && self.child(header, side) == parent;
            self.set_child(parent, side, node);
            if parent == header {
                self.set_parent(header, node);
                self.set_child(header, RIGHT, node);
            } else if is_outermost {
                self.set_child(header, side, node);
            }
            self.mend_red(node, header);
        }
    }

    /// A red node may have a red parent.
    unsafe fn mend_red(&self, mut node: Node, header: Node) {
        // SAFETY: nodes of the tree.
        unsafe {
            while node != self.parent(header) {
                let parent = self.parent(node);
                if self.color(parent) == BLACK {
                    break;
                }
                let above = self.parent(parent);
                let side = if self.child(above, LEFT) == parent { LEFT } else { RIGHT };
                let uncle = self.child(above, 1 - side);
                if self.color(uncle) == RED {
                    self.set_color(parent, BLACK);
                    self.set_color(uncle, BLACK);
                    self.set_color(above, RED);
                    node = above;
                    continue;
                }
                if self.child(parent, 1 - side) == node {
                    node = parent;
                    self.rotate(header, node, side);
                }
                self.set_color(self.parent(node), BLACK);
                self.set_color(above, RED);
                self.rotate(header, above, 1 - side);
            }
            self.set_color(self.parent(header), BLACK);
        }
    }

    unsafe fn erase(&self, node: Node, header: Node) {
        // SAFETY: nodes of the tree.
        unsafe {
            let [left, right] = [self.child(node, LEFT), self.child(node, RIGHT)];
            let (child, parent, lost);
            if left.is_null() || right.is_null() {
                child = if left.is_null() { right } else { left };
                parent = self.parent(node);
                lost = self.color(node);
                if !child.is_null() {
                    self.set_parent(child, parent);
                }
                self.replace(header, node, child);
                for (side, inner) in [(LEFT, right), (RIGHT, left)] {
                    if self.child(header, side) == node {
                        let outermost = if inner.is_null() {
                            parent
                        } else {
                            self.last(inner, side)
                        };
                        self.set_child(header, side, outermost);
                    }
                }
            } else {
                // The next node takes its place.
                let next = self.last(right, LEFT);
                child = self.child(next, RIGHT);
                self.set_parent(left, next);
                self.set_child(next, LEFT, left);
                if next == right {
                    parent = next;
                } else {
                    parent = self.parent(next);
                    if !child.is_null() {
                        self.set_parent(child, parent);
                    }
                    self.set_child(parent, LEFT, child);
                    self.set_child(next, RIGHT, right);
                    self.set_parent(right, next);
                }
                self.replace(header, node, next);
                self.set_parent(next, self.parent(node));
                lost = self.color(next);
                self.set_color(next, self.color(node));
                self.set_color(node, lost);
            }
            if lost == BLACK {
                self.mend_black(child, parent, header);
            }
        }
    }

    /// Below `parent`, on the side of `node`, there is a black node less than on the other.
    unsafe fn mend_black(&self, mut node: Node, mut parent: Node, header: Node) {
        // SAFETY: nodes of the tree.
        unsafe {
            while node != self.parent(header) && self.color(node) == BLACK {
                let side = if self.child(parent, LEFT) == node { LEFT } else { RIGHT };
                let mut other = self.child(parent, 1 - side);
                if self.color(other) == RED {
                    self.set_color(other, BLACK);
                    self.set_color(parent, RED);
                    self.rotate(header, parent, side);
                    other = self.child(parent, 1 - side);
                }
                let (near, far) = (self.child(other, side), self.child(other, 1 - side));
                if self.color(near) == BLACK && self.color(far) == BLACK {
                    self.set_color(other, RED);
                    node = parent;
                    parent = self.parent(parent);
                    continue;
                }
                if self.color(far) == BLACK {
                    self.set_color(near, BLACK);
                    self.set_color(other, RED);
                    self.rotate(header, other, 1 - side);
                    other = self.child(parent, 1 - side);
                }
                self.set_color(other, self.color(parent));
                self.set_color(parent, BLACK);
                self.set_color(self.child(other, 1 - side), BLACK);
                self.rotate(header, parent, side);
                break;
            }
            if !node.is_null() {
                self.set_color(node, BLACK);
            }
        }
    }
}

/// `_Rb_tree_insert_and_rebalance(bool left, _Rb_tree_node_base*, _Rb_tree_node_base* parent, _Rb_tree_node_base& header)`
unsafe extern "C-unwind" fn insert(left: bool, node: Node, parent: Node, header: Node, pc: usize) {
    let side = if left { LEFT } else { RIGHT };
    // SAFETY: the program's own nodes.
    unsafe { Access::changing(pc).insert(side, node, parent, header) }
}

/// `_Rb_tree_rebalance_for_erase(_Rb_tree_node_base*, _Rb_tree_node_base& header)`, which returns the node.
unsafe extern "C-unwind" fn erase(node: Node, header: Node, pc: usize) -> Node {
    // SAFETY: the program's own nodes.
    unsafe { Access::changing(pc).erase(node, header) };
    node
}

/// `_Rb_tree_increment(_Rb_tree_node_base*)`
unsafe extern "C-unwind" fn increment(node: Node, pc: usize) -> Node {
    let access = Access::by(pc);
    // SAFETY: the program's own nodes.
    unsafe {
        let right = access.child(node, RIGHT);
        if !right.is_null() {
            return access.last(right, LEFT);
        }
        let (above, below) = access.above(node, RIGHT);
        // The root is on either side of the header if it is the last node, too.
        if access.child(below, RIGHT) == above {
            below
        } else {
            above
        }
    }
}

/// `_Rb_tree_decrement(_Rb_tree_node_base*)`
unsafe extern "C-unwind" fn decrement(node: Node, pc: usize) -> Node {
    let access = Access::by(pc);
    // SAFETY: the program's own nodes.
    unsafe {
        // The header is red, and its parent's parent; a root is black.
        if access.color(node) == RED && access.parent(access.parent(node)) == node {
            return access.child(node, RIGHT);
        }
        let left = access.child(node, LEFT);
        if left.is_null() {
            access.above(node, LEFT).0
        } else {
            access.last(left, RIGHT)
        }
    }
}

mod exported {
    use super::export;
    export! {
        _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_ = super::insert, "r8";
        _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_ = super::erase, "rdx";
        _ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base = super::increment, "rsi";
        _ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base = super::increment, "rsi";
        _ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base = super::decrement, "rsi";
        _ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base = super::decrement, "rsi";
    }
}
