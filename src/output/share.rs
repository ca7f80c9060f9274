//! [`share`]: how room is given to several who want some of it.

/// Gives each what it wants as long as that is no more than an even share of what is left.
pub(crate) fn share(wanted: &[usize], room: usize) -> Vec<usize> {
    let mut by_size: Vec<usize> = (0..wanted.len()).collect();
    by_size.sort_by_key(|index| wanted[*index]);
    let mut given = vec![0; wanted.len()];
    let mut left = room;
    for (done, index) in by_size.iter().enumerate() {
        given[*index] = wanted[*index].min(left / (wanted.len() - done));
        left -= given[*index];
    }
    given
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::share;

    proptest! {
        #[test]
        fn nobody_gets_more_than_is_there_or_than_he_wants(
            wanted in prop::collection::vec(0usize..2000, 0..12),
            room in 0usize..9000,
        ) {
            let given = share(&wanted, room);
            prop_assert!(given.iter().sum::<usize>() <= room);
            prop_assert!(given.iter().zip(&wanted).all(|(given, wanted)| given <= wanted));
            if wanted.iter().sum::<usize>() <= room {
                prop_assert_eq!(given, wanted);
            }
        }
    }
}
