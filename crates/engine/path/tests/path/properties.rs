//! Random chains, packets and wake-ups: packets are conserved after every call, due times do
//! not decrease, late or early wake-ups change nothing, packets of one time may enter in one
//! call, a replay is identical.

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn any_chain_keeps_the_contract(bytes in prop::collection::vec(any::<u8>(), 0..2500)) {
        crate::common::check_script(&bytes);
    }
}
