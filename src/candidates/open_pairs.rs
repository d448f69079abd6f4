//! The pairs of sites of a crowded cell that must-happen-before leaves open, found without a look at each pair: of
//! thousands of threads that one creates and joins, few are there at the same time.

use super::Site;
use super::groups::Crowded;
use crate::prune::MustHappenBefore;
use crate::trace::ThreadId;
use hashbrown::HashMap;
use std::ops::ControlFlow;

/// Sites of which the relation to another one is found out at once: as many as there are bits.
const BLOCK: usize = u64::BITS as usize;

/// Some conflicting pairs of sites.
pub(super) enum SitesFound<'s> {
    /// All accesses at the first site of each of these must happen before all at the second. So many instances in all;
    /// and the pair that comes first.
    Ordered(u64, &'s Site, &'s Site),
    /// Another pair, the one with the earlier first access first.
    Open(&'s Site, &'s Site),
}

impl Crowded {
    /// Calls `each` with all pairs of sites of these groups, until it breaks: the open ones in order.
    pub(super) fn each_pair<'s>(
        &'s self,
        order: &MustHappenBefore,
        pairs: &[(u32, u32)],
        each: &mut dyn FnMut(SitesFound<'s>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut partners: HashMap<u32, Vec<u32>> = HashMap::new();
        for &(a, b) in pairs {
            partners.entry(a).or_default().push(b);
            if a != b {
                partners.entry(b).or_default().push(a);
            }
        }
        let mut members: Vec<u32> = partners.keys().flat_map(|&group| self.sites_of(group)).collect();
        members.sort_unstable();
        (0..members.len())
            .step_by(BLOCK)
            .try_for_each(|start| self.each_pair_of(order, &partners, &members[start..], each))
    }

    /// The same for those of which the first site is in the first block of the `members`.
    fn each_pair_of<'s>(
        &'s self,
        order: &MustHappenBefore,
        partners: &HashMap<u32, Vec<u32>>,
        members: &[u32],
        each: &mut dyn FnMut(SitesFound<'s>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let block = &members[..members.len().min(BLOCK)];
        let site = |number: u32| &self.sites[number as usize];
        let (mut of_group, mut of_thread): (HashMap<u32, u64>, HashMap<ThreadId, u64>) = Default::default();
        for (bit, &number) in block.iter().enumerate() {
            *of_group.entry(self.group(number)).or_default() |= 1 << bit;
            *of_thread.entry(site(number).thread).or_default() |= 1 << bit;
        }
        let conflicting: HashMap<u32, u64> = partners
            .iter()
            .map(|(&group, partners)| {
                let bits = partners.iter().filter_map(|partner| of_group.get(partner));
                (group, bits.fold(0, |all, bits| all | bits))
            })
            .collect();
        let last: Vec<(ThreadId, u32)> = block
            .iter()
            .map(|&number| order.clocks().place(site(number).last()))
            .collect();
        let mut last = order.clocks().places(&last);
        let mut open: Vec<Vec<u32>> = vec![Vec::new(); block.len()];
        let mut first_ordered: Vec<Option<u32>> = vec![None; block.len()];
        let mut none_ordered = u64::MAX;
        for (at, &other) in members.iter().enumerate().skip(1) {
            let earlier = 1_u64.checked_shl(at as u32).map_or(u64::MAX, |bit| bit - 1);
            let same = of_thread.get(&site(other).thread).copied().unwrap_or(0);
            let conflicting = conflicting[&self.group(other)] & earlier & !same;
            if conflicting == 0 {
                continue;
            }
            let ordered = last.before(site(other).first()) & conflicting;
            for bit in bits(conflicting & !ordered) {
                open[bit].push(other);
            }
            for bit in bits(ordered & none_ordered) {
                first_ordered[bit] = Some(other);
            }
            none_ordered &= !ordered;
        }
        for ((&number, open), first_ordered) in block.iter().zip(open).zip(first_ordered) {
            if let Some(other) = first_ordered {
                let partners = partners[&self.group(number)].iter();
                let all: u64 = partners.map(|&group| self.accesses_after(number, group)).sum();
                let open: u64 = open.iter().map(|&other| site(other).events.len() as u64).sum();
                let instances = (all - open) * site(number).events.len() as u64;
                each(SitesFound::Ordered(instances, site(number), site(other)))?;
            }
            for other in open {
                each(SitesFound::Open(site(number), site(other)))?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// The numbers of the bits that are set.
fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(bit)
    })
}
