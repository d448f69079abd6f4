//! An example in the documentation, which `witness cargo test` records.

/// What the threads have added up.
///
/// ```
/// assert_eq!(locks::sum(3), 3);
/// ```
pub fn sum(threads: u32) -> u32 {
    let sum = std::sync::Mutex::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| *sum.lock().unwrap() += 1);
        }
    });
    sum.into_inner().unwrap()
}
