//! Hostile input: refused quickly, with a message, without a panic.

use proptest::prelude::*;
use wfe_core::diagnostic::{Diagnostics, Source};
use wfe_core::plan::{self, Choice, Plan};

use crate::catalog::{catalog, mistakes};

const SAMPLE: &str = include_str!("../fixtures/elasticity.yaml");

fn first_line(text: &str) -> String {
    mistakes(text).lines().next().unwrap_or_default().to_owned()
}

fn plan_bytes(bytes: &[u8]) -> Result<Plan, Diagnostics> {
    let source = Source::from_bytes("w.yaml", bytes)?;
    plan::build(&source, &catalog(), &Choice { backend: "local".into(), ..Choice::default() })
}

#[test]
fn an_alias_bomb_does_not_explode() {
    let mut text = "a: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        let alias = format!("*a{}", level - 1);
        text.push_str(&format!("b{level}: &a{level} [{}]\n", [alias.as_str(); 9].join(", ")));
    }
    insta::assert_snapshot!(first_line(&text), @"error: the file has more than 200000 values, aliases written out");
}

#[test]
fn an_alias_inside_of_itself_is_refused() {
    insta::assert_snapshot!(first_line("a: &a [*a]\n"), @"error: this alias stands inside the value that it names");
    insta::assert_snapshot!(first_line("a: *b\n"), @"error: this is not valid YAML: while parsing node, found unknown anchor");
}

#[test]
fn an_alias_stands_for_its_value() {
    let text = "name: a\nsteps:\n  a: { uses: wait-stable, with: &with { hold: 1m } }\n  b: { uses: wait-stable, with: *with }\n";
    let plan = plan_bytes(text.as_bytes()).unwrap();
    assert_eq!(plan.steps[0].parameters, plan.steps[1].parameters);
}

#[test]
fn a_large_file_is_refused() {
    let text = "# x\n".repeat(2_500_000);
    let wrong = plan_bytes(text.as_bytes()).unwrap_err().to_string();
    assert!(wrong.contains("the file has 10000000 bytes; a workflow may have 1048576"), "{wrong}");
    insta::assert_snapshot!(first_line(&text), @"error: the file has 10000000 bytes; a workflow may have 1048576");
}

#[test]
fn deep_nesting_is_refused() {
    insta::assert_snapshot!(first_line(&format!("a: {}", "[".repeat(100_000))), @"error: values are nested more than 32 deep");
    insta::assert_snapshot!(first_line(&format!("a: {}", "{a: ".repeat(100_000))), @"error: values are nested more than 32 deep");
    let block: String = (0..1_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    insta::assert_snapshot!(first_line(&block), @"error: values are nested more than 32 deep");
    insta::assert_snapshot!(first_line(&"- ".repeat(100_000)), @"error: values are nested more than 32 deep");
}

#[test]
fn a_nul_byte_is_named() {
    insta::assert_snapshot!(mistakes("name: a\0b\n"), @r"
    error: the file holds a NUL byte, which no text file has
     --> w.yaml:1:8
      |
    1 | name: a\u{0}b
      |        ^^^^^
    ");
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let wrong = plan_bytes(b"name: \xf0\x28\n").unwrap_err();
    insta::assert_snapshot!(wrong.list[0].message, @"the file is not UTF-8 text: byte 6 belongs to no character");
}

#[test]
fn windows_files_with_a_byte_order_mark_work() {
    let text = format!("\u{feff}{}", SAMPLE.replace('\n', "\r\n"));
    plan_bytes(text.as_bytes()).unwrap_or_else(|wrong| panic!("{wrong}"));
    let wrong = plan_bytes(text.replace("uses: wait-stable", "uses: wait").as_bytes()).unwrap_err();
    let place = &wrong.list[0];
    assert_eq!(&text.replace("uses: wait-stable", "uses: wait")[place.span.start..place.span.end], "wait");
    assert_eq!((place.line, place.column), (45, 11));
}

#[test]
fn thousands_of_mistakes_are_cut_short() {
    let steps: String = (0..1_000).map(|n| format!("  step{n}: {{ uses: rport, needs: [stp{n}] }}\n")).collect();
    let wrong = plan_bytes(format!("name: a\nsteps:\n{steps}").as_bytes()).unwrap_err();
    assert_eq!((wrong.list.len(), wrong.omitted), (100, 1_900));
    assert!(wrong.to_string().ends_with("error: and 1900 more mistakes\n"));
}

#[test]
fn a_text_with_an_expression_cannot_come_from_outside() {
    let text = "name: a\ninputs: { note: { type: string, default: x } }\nsteps:\n  a: { uses: report }\n";
    let set = vec![("note".to_owned(), "${{ steps.a.outputs.b }}".to_owned())];
    let choice = Choice { set, ..Choice::default() };
    let wrong = plan::build(&Source::new("w.yaml", text), &catalog(), &choice).unwrap_err();
    insta::assert_snapshot!(wrong.list[0].message, @"`note` cannot be an expression");
}

/// Whatever is wrong is said at a place that can be shown.
fn check(text: &[u8]) -> Result<(), TestCaseError> {
    if let Err(wrong) = plan_bytes(text) {
        prop_assert!(!wrong.list.is_empty());
        for one in &wrong.list {
            prop_assert!(one.line >= 1 && one.column >= 1 && one.span.start <= one.span.end);
            prop_assert!(one.source_line.chars().count() <= 300);
        }
        prop_assert!(!wrong.to_string().is_empty());
    }
    Ok(())
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&bytes)?;
    }

    #[test]
    fn arbitrary_yaml_never_panics(text in "(name|steps|uses|with|needs|inputs|limits|any 5m|read.p99|load|a|\\$\\{\\{|\\}\\}|[-:,?|>&*!%#'\"{}\\[\\] \n\t]|é|[0-9]|%|<=){0,60}") {
        check(text.as_bytes())?;
    }

    #[test]
    fn a_damaged_sample_never_panics(at in 0..SAMPLE.len(), length in 0_usize..40, with in "([-:{}\\[\\]$ \n\"'a0%<>é]|\\$\\{\\{|: |\n  ){0,6}") {
        let mut bytes = SAMPLE.as_bytes().to_vec();
        let end = (at + length).min(bytes.len());
        bytes.splice(at..end, with.bytes());
        check(&bytes)?;
    }
}
