//! A token that both ends know. It is never sent: the client proves that it knows it by the HMAC-SHA256 (RFC
//! 2104) of the server's random challenge. The proof is bound to the protocol and its version, so that it is
//! useless elsewhere.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Length of a challenge, bytes.
pub const CHALLENGE: usize = 32;

/// The text before the challenge in the authenticated message.
const PURPOSE: &[u8] = b"longfat measure 1";

fn mac(token: &[u8], challenge: &[u8]) -> Hmac<Sha256> {
    // HMAC takes keys of any length.
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(token).unwrap_or_else(|_| unreachable!());
    mac.update(PURPOSE);
    mac.update(challenge);
    mac
}

/// Computes the proof of the token for a challenge.
pub fn proof(token: &[u8], challenge: &[u8]) -> Vec<u8> {
    mac(token, challenge).finalize().into_bytes().to_vec()
}

/// Whether the proof is that of the token; takes the same time wherever it differs.
pub fn is_proof(token: &[u8], challenge: &[u8], proof: &[u8]) -> bool {
    mac(token, challenge).verify_slice(proof).is_ok()
}

/// Returns the token in the text of a file: what remains without white space at its ends. `None` if that is
/// shorter than 16 bytes, which could be guessed.
pub fn from_file(text: &[u8]) -> Option<Vec<u8>> {
    Some(text.trim_ascii().to_vec()).filter(|token| token.len() >= 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::to_hex;

    #[test]
    fn the_proof_is_hmac_sha256() {
        // python3 -c "import hmac; print(hmac.new(b'a token of 23 bytes....', b'longfat measure 1' +
        // bytes(32), 'sha256').hexdigest())"
        let proof = proof(b"a token of 23 bytes....", &[0; CHALLENGE]);
        assert_eq!(to_hex(&proof), "018154b0bb6b64cd52445a495a1fd7bc633bccdcfffb925137d80e366972f7bf");
    }

    #[test]
    fn only_the_token_proves_itself() {
        let (token, challenge) = (b"0123456789abcdef", [7; CHALLENGE]);
        let right = proof(token, &challenge);
        assert!(is_proof(token, &challenge, &right));
        assert!(!is_proof(token, &[8; CHALLENGE], &right), "another challenge");
        assert!(!is_proof(b"0123456789abcdeg", &challenge, &right), "another token");
        assert!(!is_proof(token, &challenge, &right[..31]) && !is_proof(token, &challenge, b""));
    }

    #[test]
    fn a_token_has_no_white_space_around_it_and_is_long() {
        assert_eq!(from_file(b"  0123456789abcdef\n"), Some(b"0123456789abcdef".to_vec()));
        assert_eq!(from_file(b"0123456789abcde\n"), None);
    }
}
