//! Random chains, random packets, random wake-ups: the books balance after every call, stamps do
//! not fall, late or early wake-ups move nothing, a replay is identical.

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn any_chain_keeps_the_contract(bytes in prop::collection::vec(any::<u8>(), 0..2500)) {
        crate::common::check_script(&bytes);
    }
}
