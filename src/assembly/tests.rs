use super::{Access, By};
use hashbrown::HashMap;
use recorder_ring::assembly::{Instruction, Operation};

/// The text with calls in front of what inline assembly does.
fn announced(text: &str) -> Option<String> {
    super::announced(text, &HashMap::new())
}

/// A function of gcc's with an assembly statement, with what else stands in a module.
fn module(inline: &str) -> String {
    format!(
        "\t.text\n\t.type\tf, @function\nf:\n\tpushq %rbp\n#APP\n# 3 \"f.c\" 1\n{inline}\n# 0 \"\" 2\n#NO_APP\n\tret\n\
         \t.size\tf, .-f\n\tcall __tsan_init\n"
    )
}

/// What stands in place of an assembly statement.
fn rewritten(inline: &str) -> Option<String> {
    let text = announced(&module(inline))?;
    let (_, behind) = text.split_once("# 3 \"f.c\" 1\n")?;
    let (inline, _) = behind.split_once("\n# 0 \"\" 2\n")?;
    Some(inline.to_owned())
}

/// The operands of `push` and `lea` in each call that an assembly statement got, and what follows it.
fn calls(inline: &str) -> Vec<(String, String, String)> {
    let text = rewritten(inline).unwrap_or_default();
    let mut calls = Vec::new();
    for part in text.split("leaq -128(%rsp), %rsp; pushq ").skip(1) {
        let (source, rest) = part.split_once("; pushq %rdi; ").expect("a call");
        let (address, rest) = rest.split_once("pushq $").expect("a code");
        let address = address
            .strip_prefix("leaq ")
            .and_then(|rest| rest.strip_suffix(", %rdi; "));
        let (_, rest) = rest.split_once("leaq 136(%rsp), %rsp; ").expect("the end of a call");
        let of = |text: &str| text.trim_end().to_owned();
        calls.push((of(source), of(address.unwrap_or("fence")), of(rest)));
    }
    calls
}

fn call(inline: &str) -> (String, String) {
    let all = calls(inline);
    let [(source, address, rest)] = &*all else {
        panic!("{inline}: {all:?}");
    };
    assert_eq!(rest, inline.trim());
    (source.clone(), address.clone())
}

#[test]
fn a_call_is_put_in_front_of_an_instruction_with_its_operands() {
    for (inline, source, address) in [
        ("\tlock; cmpxchgl %ecx,(%rdi)", "%rcx", "(%rdi)"),
        ("lock cmpxchg %r9d, 8(%rax,%rbx,4)", "%r9", "8(%rax,%rbx,4)"),
        ("lock\n\txaddq %rax, counter(%rip)", "%rax", "counter(%rip)"),
        ("lock ; incl 4(%rdx)", "$1", "4(%rdx)"),
        ("lock; decb word", "$1", "word"),
        ("xchgb %dil, (%rsi)", "%rdi", "(%rsi)"),
        ("xchg (%rsi), %ax", "%rax", "(%rsi)"),
        ("movl $-1, 16(%rax)", "$-1", "16(%rax)"),
        ("movl $0xffffffff, (%rax)", "$-1", "(%rax)"),
        ("movb $200, (%rax)", "$-56", "(%rax)"),
        ("movl (%rax), %edx", "$0", "(%rax)"),
        ("movzbl (%rax), %edx", "$0", "(%rax)"),
        ("movl %eax, -4(%rsp)", "%rax", "144+-4(%rsp)"),
        ("movq (%rsp,%rcx,8), %rdx", "$0", "144(%rsp,%rcx,8)"),
        ("lock; btsl %ecx, (%rdi)", "%rcx", "(%rdi)"),
        ("lock; cmpxchg16b (%rdi)", "$0", "(%rdi)"),
        ("lock; notq (%rdi)", "$0", "(%rdi)"),
        ("lock; addl $0,0(%rsp)", "$0", "fence"),
        ("mfence", "$0", "fence"),
        ("cmpl $3, (%rax)", "$3", "(%rax)"),
        ("addq (%rdi), %rax", "$0", "(%rdi)"),
    ] {
        let got = call(inline);
        // What a load gets is no operand of it.
        let source = if got.0 == "$0" { "$0" } else { source };
        assert_eq!((&*got.0, &*got.1), (source, address), "{inline}");
    }
}

#[test]
fn what_is_not_understood_stays_as_it_is() {
    for inline in [
        // No access, or none that is understood.
        "nop",
        "rep; nop",
        "xchgl %eax, %ebx",
        "leaq 8(%rax), %rbx",
        "movq %xmm0, (%rax)",
        "movdqa (%rax), %xmm0",
        "rep movsb",
        "lock; cmpxchg8b (%rdi)",
        "movl %ah, (%rax)",
        "jmp 1f\n1:",
        // Of a segment, and at an address of 32 bits.
        "movl %fs:0x28, %eax",
        "movl (%edi), %eax",
        // Too large for `push`.
        "movq $value, (%rax)",
        // Statements that move the stack, or leave; and directives.
        "movl (%rdi), %eax; movq %rsp, (%rsi)",
        "pushq %rax; lock; incl (%rdi); popq %rax",
        "lock; incl (%rdi); ret",
        "call other; movl $1, (%rdi)",
        "movl $1, (%rdi); jmp *%rax",
        ".section .note; .long 1; .previous; lock; incl (%rdi)",
    ] {
        assert_eq!(rewritten(inline), None, "{inline}");
    }
}

#[test]
fn what_was_read_of_the_processors_clock_is_told_behind_it() {
    let code = |operation| {
        Instruction {
            operation,
            size: 8,
            locked: false,
        }
        .encode()
    };
    let told = |inline: &str, operation, then: &str| {
        let text = rewritten(inline).expect(inline);
        let (before, call) = text.split_once("; leaq -128(%rsp)").expect(inline);
        assert!(
            call.contains(&format!("pushq %rdi; pushq ${}; ", code(operation))),
            "{text}"
        );
        let (_, rest) = call.split_once("leaq 136(%rsp), %rsp; ").expect("the end of a call");
        assert_eq!(format!("{before}{rest}"), inline);
        assert_eq!(rest, then);
    };
    told("rdtsc", Operation::Clock, "");
    told("lfence; rdtsc; shl $32, %rdx", Operation::Clock, "; shl $32, %rdx");
    told(
        "1: RDTSCP # when\n\tmovl %eax, %ebx",
        Operation::ClockAndNumber,
        " # when\n\tmovl %eax, %ebx",
    );
    assert_eq!(rewritten("rdtscx"), None);
    // In front of one, and behind another.
    assert_eq!(calls("lock; incl (%rdi)\n\trdtsc").len(), 2);
    let lines = |line: &str| {
        let text = format!("\t.type\tf, @function\nf:\n\t{line}\n\t.size\tf, .-f\n\tcall __tsan_init\n");
        let text = announced(&text)?;
        text.lines().nth(2).map(str::to_owned)
    };
    let line = lines("rdtsc").expect("a call");
    assert!(line.starts_with("\trdtsc; leaq -128"), "{line}");
    for other in ["call\trdtsc", "movq\trdtsc(%rip), %rax", "jmp\trdtsc"] {
        assert_eq!(lines(other), None);
    }
}

#[test]
fn labels_and_loops_keep_their_places() {
    let inline = "1:\tlock; decb (%rdi)\n\tjns 3f\n2:\tpause\n\tcmpb $0, (%rdi)\n\tjle 2b\n\tjmp 1b\n3:";
    let text = rewritten(inline).expect("three accesses");
    assert_eq!(calls(inline).len(), 2);
    assert!(text.starts_with("1:\tleaq -128"), "{text}");
    let without: String = text
        .split("leaq -128(%rsp)")
        .map(|part| part.split_once("leaq 136(%rsp), %rsp; ").map_or(part, |(_, rest)| rest))
        .collect();
    assert_eq!(without, inline);
}

#[test]
fn only_assembly_within_functions_of_instrumented_modules_is_changed() {
    let inside = module("lock; incl (%rdi)");
    assert!(announced(&inside).is_some());
    assert_eq!(announced(&inside.replace("__tsan_init", "init")), None);
    assert_eq!(announced(&inside.replace("f:\n", "")), None);
    let outside = inside.replace("\tret\n", "").replace("\t.size\tf, .-f\n", "");
    assert_eq!(
        announced(&format!("#APP\n# 1 \"f.c\" 1\nlock; incl (%rdi)\n#NO_APP\n{outside}")).map(|_| ()),
        Some(())
    );
    let (before, _) = outside.split_once("#APP").expect("assembly");
    let ended =
        format!("{before}\t.size\tf, .-f\n#APP\n# 1 \"f.c\" 1\nlock; incl (%rdi)\n#NO_APP\n\tcall __tsan_init\n");
    assert_eq!(announced(&ended), None);
    assert_eq!(announced(&format!("\t.intel_syntax noprefix\n{inside}")), None);
}

#[test]
fn a_statement_in_the_order_of_intel_stays_as_it_is_and_others_do_not() {
    let both = |first: &str| module(&format!("{first}\n# 0 \"\" 2\n# 4 \"f.c\" 1\nlock; incl (%rdi)"));
    let intel = ".intel_syntax noprefix; lock inc dword ptr [rdi]; .att_syntax prefix";
    let told = announced(&both(intel)).expect("the second one is told of");
    assert!(told.contains(&format!("\n{intel}\n")), "{told}");
    assert_eq!(
        told.matches("call").count(),
        announced(&both("nop")).expect("as above").matches("call").count()
    );
    // All that follows is in that order, too.
    assert_eq!(
        announced(&both(".intel_syntax noprefix; lock inc dword ptr [rdi]")),
        None
    );
}

#[test]
fn lines_of_the_compiler_get_labels_where_they_may_access_memory() {
    let text = "\t.type\tf, @function\nf:\n\tleaq\tg(%rip), %rdi\n\tcall\t__tsan_read8\n\tmovq\tg(%rip), %rax\n\tmovq\t%rax, (%rsp)\n\
                \trep movsq\n#APP\n# 3 \"f.c\" 1\n\tmovq (%rax), %rdx\n# 0 \"\" 2\n#NO_APP\n\tjmp\t*8(%rax)\n\t.size\tf, .-f\n\
                \tmovq\tg(%rip), %rax\n\tcall __tsan_init\n";
    let labelled = super::labelled(text).expect("it is instrumented");
    let lines: Vec<&str> = labelled.lines().collect();
    let behind: Vec<(usize, &str)> = lines
        .windows(2)
        .filter_map(|pair| Some((super::labelled_line(pair[0].strip_suffix(':')?)?, pair[1])))
        .collect();
    assert_eq!(behind, [(4, "\tmovq\tg(%rip), %rax"), (6, "\trep movsq")]);
    let without: Vec<&str> = lines
        .into_iter()
        .filter(|line| !line.starts_with("__witness"))
        .collect();
    assert_eq!(without.join("\n") + "\n", text);
    assert_eq!(super::labelled(&text.replace("__tsan_init", "init")), None);
}

#[test]
fn accesses_that_the_compiler_left_out_get_a_call_each() {
    let access = |by, size, reads, writes, locked| Access {
        by,
        size,
        reads,
        writes,
        locked,
    };
    let told = |line: &str, access: Access| -> Vec<String> {
        let text = format!("\t.type\tf, @function\nf:\n\t{line}\n\t.size\tf, .-f\n\tcall __tsan_init\n");
        let text = super::announced(&text, &[(2, vec![access])].into_iter().collect()).unwrap_or_default();
        let line = text.lines().nth(2).unwrap_or_default();
        let calls = line.split("pushq %rdi; leaq ").skip(1);
        calls
            .map(|call| call.split("; call").next().unwrap_or_default().to_owned())
            .collect()
    };
    let code = |operation, size| {
        Instruction {
            operation,
            size,
            locked: false,
        }
        .encode()
    };
    let (read, write) = (code(Operation::Read, 8), code(Operation::Write, 16));
    assert_eq!(
        told("pushq\t8+g(%rip)", access(By::Operand, 8, true, false, false)),
        [format!("8+g(%rip), %rdi; pushq ${read}")]
    );
    assert_eq!(
        told("movups\t%xmm0, 16(%rbx)", access(By::Operand, 16, false, true, false)),
        [format!("16(%rbx), %rdi; pushq ${write}")]
    );
    assert_eq!(
        told(
            "rep movsq",
            access(By::Source { repeated: true }, 8, true, false, false)
        ),
        [format!("(%rsi), %rdi; pushq ${read}")]
    );
    let both = told("addq\t$1, (%rbx)", access(By::Operand, 8, true, true, false));
    assert_eq!(both.len(), 2, "a read, and a write: {both:?}");
    let locked = told("lock cmpxchgq\t%rcx, x(%rip)", access(By::Operand, 8, true, true, true));
    assert_eq!(locked.len(), 1, "one operation: {locked:?}");
    // Not a number of bytes that is told.
    assert!(told("fxsave\t(%rbx)", access(By::Operand, 512, false, true, false)).is_empty());
}
