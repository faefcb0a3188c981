//! Bridges over TLS.

use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use slackline::bridge::settings::{Settings, Tls};
use slackline::bridge::{Bridge, Directory, PeerEvent, ask_once};

use crate::stage::{LONG, Node, Notes, Question, SCRIBE, settings};

/// Writes an authority and a certificate that it signed for loopback into a folder of its own.
fn certificates(folder: &str) -> Tls {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(vec![]).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_certificate = authority.self_signed(&authority_key).unwrap();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
    let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
    let put = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    Tls {
        certificate: put("node.pem", certificate.pem()),
        key: put("node.key", key.serialize_pem()),
        authority: put("authority.pem", authority_certificate.pem()),
    }
}

fn with(tls: Option<&Tls>, node: &str) -> Settings {
    Settings { tls: tls.cloned(), ..settings(node) }
}

#[actix::test]
async fn nodes_with_certificates_of_one_authority_speak_to_each_other() {
    let tls = certificates("one");
    let (a, b) = (Node::start(with(Some(&tls), "a")), Node::start(with(Some(&tls), "b")));
    a.dial(&b, "b");
    let link = a.bridge.link("b");
    (0..20).for_each(|first| link.tell(SCRIBE, Notes { first, values: vec![first as f32; 100_000] }));
    b.written(20).await;
    assert_eq!(link.ask(SCRIBE, Question(3), LONG).await.unwrap().so_far, (0..20).collect::<Vec<_>>());
    let address = b.bridge.address().to_string();
    assert_eq!(
        ask_once(&with(Some(&tls), "v"), &address, SCRIBE, Question(4), LONG).await.unwrap().number,
        4
    );
}

#[actix::test]
async fn a_node_without_a_certificate_of_the_authority_gets_no_further() {
    let (tls, other) = (certificates("right"), certificates("wrong"));
    let b = Node::start(with(Some(&tls), "b"));
    let address = b.bridge.address().to_string();
    for stranger in [Some(&other), None] {
        let error = ask_once(&with(stranger, "v"), &address, SCRIBE, Question(4), LONG).await;
        error.expect_err("it is not let in");
    }
    assert_eq!(b.events.try_iter().filter(|event| matches!(event, PeerEvent::Up(_))).count(), 0);
}

#[test]
fn a_file_that_holds_no_certificate_is_named() {
    let mut tls = certificates("none");
    std::fs::write(&tls.certificate, "nothing").unwrap();
    let error = Bridge::start(with(Some(&tls), "a"), Directory::default(), |_| Ok(()), |_| {}).unwrap_err();
    assert_eq!(error.to_string(), format!("{}: there is no certificate in it", tls.certificate.display()));
    tls.key = "/nowhere".into();
    tls.certificate.clone_from(&tls.authority);
    let error = Bridge::start(with(Some(&tls), "a"), Directory::default(), |_| Ok(()), |_| {}).unwrap_err();
    assert!(error.to_string().starts_with("/nowhere: "), "{error}");
}
