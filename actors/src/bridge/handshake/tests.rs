use super::*;
use proptest::prelude::*;

fn identity(node: &str, key: &str) -> Identity {
    Identity { cluster: "c".to_owned(), node: node.to_owned(), incarnation: 1, key: key.as_bytes().to_vec() }
}

/// Both sides; what each is sent may be changed on its way.
struct Talk {
    dialler: Handshake,
    acceptor: Handshake,
    hello: Vec<u8>,
}

fn talk(dialler: Identity, acceptor: Identity) -> Talk {
    let (dialler, hello) =
        Handshake::dial(dialler, Purpose::Control, Some("b".to_owned()), random().unwrap());
    Talk { dialler, acceptor: Handshake::accept(acceptor, Purpose::Control, random().unwrap()), hello }
}

fn head(next: Next) -> (Kind, Vec<u8>) {
    match next {
        Next::Send(kind, head) => (kind, head),
        Next::Proved { proof, .. } => (Kind::Proof, proof.expect("an acceptor has a proof to send")),
    }
}

/// Runs the handshake; returns whom each side believes to speak to, or which side refused and why.
fn run(mut talk: Talk) -> Result<(String, String), (&'static str, String)> {
    let acceptor = |error: Refusal| ("acceptor", error.to_string());
    let dialler = |error: Refusal| ("dialler", error.to_string());
    let (kind, hello) = head(talk.acceptor.take(Kind::Hello, &talk.hello).map_err(acceptor)?);
    let (kind, proof) = head(talk.dialler.take(kind, &hello).map_err(dialler)?);
    let proved = talk.acceptor.take(kind, &proof).map_err(acceptor)?;
    let Next::Proved { peer: who_dials, proof: Some(proof) } = proved else { panic!("not proved") };
    let proved = talk.dialler.take(Kind::Proof, &proof).map_err(dialler)?;
    let Next::Proved { peer: who_accepts, proof: None } = proved else { panic!("not proved") };
    Ok((who_dials.node, who_accepts.node))
}

fn refusal(dialler: Identity, acceptor: Identity) -> (&'static str, String) {
    run(talk(dialler, acceptor)).unwrap_err()
}

#[test]
fn two_nodes_that_know_the_token_know_each_other() {
    assert_eq!(run(talk(identity("a", "k"), identity("b", "k"))), Ok(("a".to_owned(), "b".to_owned())));
    assert!(run(talk(identity("a", ""), identity("b", ""))).is_ok(), "without a token");
}

#[test]
fn whoever_is_wrong_is_told_why() {
    let b = || identity("b", "k");
    let why = "it does not know the cluster's token".to_owned();
    assert_eq!(refusal(identity("a", "x"), b()), ("acceptor", why.clone()));
    assert_eq!(refusal(identity("a", ""), b()), ("acceptor", why));
    let other = Identity { cluster: "d".to_owned(), ..identity("a", "k") };
    assert_eq!(refusal(other, b()), ("acceptor", "it belongs to cluster \"d\", this is \"c\"".to_owned()));
    assert_eq!(refusal(b(), b()), ("acceptor", "two nodes have the name \"b\"".to_owned()));
    let why = "node \"x\" answers where \"b\" should".to_owned();
    assert_eq!(refusal(identity("a", "k"), identity("x", "k")), ("dialler", why));
}

#[test]
fn a_newer_protocol_is_refused_with_both_versions() {
    let mut talk = talk(identity("a", "k"), identity("b", "k"));
    let hello: Hello = read_head(&talk.hello).unwrap();
    talk.hello = write_head(&Hello { oldest: 7, newest: 9, ..hello });
    assert_eq!(
        run(talk).unwrap_err(),
        ("acceptor", "it speaks protocol 7 to 9, this node speaks 1 to 1".to_owned())
    );
}

#[test]
fn a_replayed_handshake_proves_nothing() {
    let mut first = talk(identity("a", "k"), identity("b", "k"));
    let (_, hello) = head(first.acceptor.take(Kind::Hello, &first.hello).unwrap());
    let (_, proof) = head(first.dialler.take(Kind::Hello, &hello).unwrap());
    let mut second = talk(identity("a", "k"), identity("b", "k"));
    second.acceptor.take(Kind::Hello, &first.hello).unwrap();
    let why = Refusal::Ours("it does not know the cluster's token".to_owned());
    assert_eq!(second.acceptor.take(Kind::Proof, &proof).unwrap_err(), why);
}

#[test]
fn a_proof_sent_back_to_its_maker_proves_nothing() {
    let mut talk = talk(identity("a", "k"), identity("b", "k"));
    let (_, hello) = head(talk.acceptor.take(Kind::Hello, &talk.hello).unwrap());
    let (_, proof) = head(talk.dialler.take(Kind::Hello, &hello).unwrap());
    assert!(talk.dialler.take(Kind::Proof, &proof).is_err());
}

#[test]
fn a_proof_before_the_hello_is_refused() {
    let mut talk = talk(identity("a", "k"), identity("b", "k"));
    let why = "it sent Proof where the handshake has another step";
    assert_eq!(talk.acceptor.take(Kind::Proof, &[0; 32]).unwrap_err().to_string(), why);
}

proptest! {
    #[test]
    fn garbage_is_refused(kinds in proptest::collection::vec(0usize..4, 1..4), bytes: Vec<u8>) {
        let mut talk = talk(identity("a", "k"), identity("b", "k"));
        for kind in kinds {
            let kind = [Kind::Hello, Kind::Proof, Kind::Refusal, Kind::Tell][kind];
            prop_assert!(talk.acceptor.take(kind, &bytes).is_err());
        }
    }
}
