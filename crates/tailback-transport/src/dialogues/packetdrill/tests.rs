use super::*;

/// A script of our own with a step of each kind.
const SCRIPT: &str = r#"// Before the options.
--tolerance_usecs=25000
--remote_ip="192.0.2.7"
`../common/defaults.sh
sysctl -q net.ipv4.tcp_early_retrans=0 net/ipv4/tcp_sack=1 \
    net.ipv4.tcp_rmem="4096 $((128*1024)) 6000000"   # what a shell says behind a sharp
ip route change 192.0.2.7 dev tun0 initcwnd 4 > /dev/null 2>&1; tc qdisc add dev tun0 root pfifo`

    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 setsockopt(3, SOL_SOCKET, SO_LINGER, {onoff=1, linger=0}, 8) = 0
   +0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0x2 (flags O_RDWR)
+.1...+.3 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
  0.5 < S 0:0(0) win 32792 <mss 1000,sackOK,TS val 7 ecr 0,nop,wscale 7>
+.1~+.2 > [ect0] SE. 0:0(0) ack 1 <...>
    * > P. 1:3001(3000) ack 1 /* until
  here */
+.02 < [noecn] E. 1:1(0) ack 1 win 320 <nop, nop, sack 1001:2001 2501:3001>
   +0 %{
assert tcpi_ca_state == TCP_CA_Recovery, 'state %d' % (tcpi_ca_state)  # as it should be
assert 90 <= tcpi_rtt < 2*100 and not tcpi_lost; cwnd = 0x10
cwnd += 1
print(cwnd)
}%
`/tmp/sysctl_restore_${PPID}.sh`
"#;

#[test]
fn a_script_with_a_step_of_each_kind() {
    let script = read(SCRIPT.as_bytes()).unwrap();
    insta::assert_snapshot!(format!("{script:#?}"));
}

/// Scripts that are refused, one by one.
const REFUSED: &[&str] = &[
    "",
    "// nothing\n",
    "--tolerance_usecs=4000\n",
    "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3 /* open",
    "socket(..., SOCK_STREAM, IPPROTO_TCP) = 3",
    "+0 socket",
    "+0 socket(..., SOCK_STREAM",
    "+0 socket(... SOCK_STREAM) = 3",
    "+0 close(3)",
    "+0 close(3) = ",
    "+0 close(3) = -1 EBADF (Bad",
    "+0 close(99999999999999999999) = 0",
    "+0 close([[[[[[[[[[[[[[[[[[[[[[[[[[[[[[3]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]) = 0",
    "0.1~ > . 1:1(0) ack 1",
    "+0.1~0.2 > . 1:1(0) ack 1",
    "+0.2~+0.1 > . 1:1(0) ack 1",
    "999999999 > . 1:1(0) ack 1",
    "0.1...0.2 > . 1:1(0) ack 1",
    "-1 > . 1:1(0) ack 1",
    "+0 > 1:1(0) ack 1",
    "+0 > X. 1:1(0) ack 1",
    "+0 > U. 1:1(0) ack 1",
    "+0 > . 1:2(0) ack 1",
    "+0 > . 5000000000:5000000001(1) ack 1",
    "+0 > . 1:1(0) ack",
    "+0 > . 1:1(0) ack 1 win 70000",
    "+0 > . 1:1(0) ack 1 win 7 urg 1",
    "+0 > . 1:1(0)! ack 1",
    "+0 > 8080 > 9090 . 1:1(0) ack 1",
    "+0 < . 1:1(0) ack 1 <...>",
    "+0 > . 1:1(0) ack 1 <mss>",
    "+0 > . 1:1(0) ack 1 <mss 70000>",
    "+0 > . 1:1(0) ack 1 <wscale 15>",
    "+0 > . 1:1(0) ack 1 <sack>",
    "+0 > . 1:1(0) ack 1 <sack 1:2 3:4 5:6 7:8 9:10>",
    "+0 > . 1:1(0) ack 1 <TS 1 ecr 2>",
    "+0 > . 1:1(0) ack 1 <nop nop>",
    "+0 > . 1:1(0) ack 1 <FO a1b2>",
    "+0 > . 1:1(0) ack 1 <ECN ceb 0 e0b 1>",
    "+0 > . 1:1(0) ack 1 <ECN e0b 1 e1b 1>",
    "+0 > . 1:1(0) ack 1 <ECN e0b 16777216>",
    "+0 > .8 1:1(0) ack 1",
    "+0 > P.05 1:1(0) ack 1",
    "+0 > EA5. 1:1(0) ack 1",
    "+0 > . 1:1(0) ack 1 <odd 1>",
    "+0 > [ttl 4] . 1:1(0) ack 1",
    "+0 > (tos 0x8) . 1:1(0) ack 1",
    "+0 < [ect01] . 1:1(0) ack 1",
    "+0 < icmp unreachable frag_needed mtu 1300",
    "+0 > udp(1400)",
    "+0 > ipv4 192.0.2.1 > 192.0.2.2: . 1:1(0) ack 1",
    "`sysctl -q`",
    "`sysctl -n net.ipv4.tcp_sack`",
    "`sysctl -q net.ipv4/../../kernel/panic=1`",
    "`rm -rf /tmp/x`",
    "`sysctl -q net.ipv4.tcp_sack=$X`",
    "`sysctl -q net.ipv4.tcp_sack=$(id)`",
    "`nstat | grep x`",
    "`echo 1 > /proc/sys/kernel/panic`",
    "`../common/set_sysctls.py net.ipv4.tcp_sack=1`",
    "`../common/defaults.sh fast`",
    "`open",
    "\n\n+0 %{ import os }%",
    "+0 %{ assert tcpi_rtt == open('x') }%",
    "+0 %{ assert tcpi_rtt = 3 }%",
    "+0 %{ assert tcpi_rtt == }%",
    "+0 %{ assert 'x }%",
    "+0 %{ assert (tcpi_rtt }%",
    "+0 %{ tcpi.rtt = 1 }%",
    "+0 %{ assert ((((((((((((((((((((((((((((((1)))))))))))))))))))))))))))))) }%",
    "+0 %{ assert 1",
];

/// Flags of ECN as letters or as a number, and the option in both orders.
#[test]
fn accurate_ecn_is_read() {
    let packet = |text: &str| match read(text.as_bytes()).unwrap().steps.remove(0).what {
        What::Arrives(p) | What::Sends(p) => p,
        other => panic!("{other:?}"),
    };
    let flags = |text: &str| packet(&format!("+0 > {text} 1:1(0) ack 1")).flags;
    assert_eq!(["EAP.", "P.5", "P5.", ".0"].map(flags), ["EAP.", "P.AE", "P.AE", "."]);
    let counts = |text: &str| {
        packet(&format!("+0 < . 1:1(0) ack 1 <{text}>"))
            .options
            .unwrap()
            .remove(0)
    };
    assert_eq!(
        counts("ECN e1b 1 ceb 0 e0b 7"),
        TcpOption::Counts(vec![("e1b", 1), ("ceb", 0), ("e0b", 7)])
    );
    assert_eq!(
        counts("ECN e0b 1 ceb 2"),
        TcpOption::Counts(vec![("e0b", 1), ("ceb", 2)])
    );
    assert_eq!(counts("ECN"), TcpOption::Counts(vec![]));
}

#[test]
fn what_is_said_of_scripts_that_are_refused() {
    let faults = REFUSED.iter().map(|text| {
        let fault = read(text.as_bytes())
            .err()
            .map_or("IT IS READ".into(), |f| f.to_string());
        format!("{}\n    {fault}\n", text.escape_debug())
    });
    insta::assert_snapshot!(faults.collect::<String>());
}

#[test]
fn a_byte_that_is_no_text_is_named_with_its_line() {
    let fault = read(b"0 close(3) = 0\n+0 \xff\n").unwrap_err();
    assert_eq!((fault.line, fault.word.as_str()), (2, "\\xff"));
}

#[test]
fn a_file_of_commands_is_read_with_its_lines() {
    let text = b"#!/bin/sh\n# settings\n\nsysctl -q net.ipv4.tcp_ecn=2\nip tcp_metrics flush all > /dev/null 2>&1\n";
    let commands = read_commands(text).unwrap();
    assert_eq!(commands.iter().map(|c| c.line).collect::<Vec<_>>(), [4, 5]);
    assert_eq!(
        commands[0].kind,
        CommandKind::Set {
            name: "net.ipv4.tcp_ecn".into(),
            value: "2".into()
        }
    );
    assert_eq!(commands[1].kind, CommandKind::Nothing);
    assert_eq!(read_commands(b"\n\nreboot\n").unwrap_err().line, 3);
}

/// A script that is changed at random is still read or refused.
#[test]
fn mutated_scripts_are_read_or_refused() {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut draw = |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let (mut read_well, mut refused) = (0, 0);
    for _ in 0..4_000 {
        let mut bytes = SCRIPT.as_bytes().to_vec();
        for _ in 0..1 + draw(3) {
            let (place, other_place) = (draw(bytes.len()), draw(bytes.len()));
            match draw(4) {
                0 => bytes[place] = draw(256) as u8,
                1 => bytes.truncate(place + 1),
                2 => bytes.swap(place, other_place),
                _ => drop(bytes.drain(place.min(other_place)..place.max(other_place).min(place.min(other_place) + 30))),
            }
            if bytes.is_empty() {
                bytes.push(b'+');
            }
        }
        match read(&bytes) {
            Ok(_) => read_well += 1,
            Err(fault) => {
                refused += 1;
                assert!(fault.line >= 1 && !fault.what.is_empty());
            }
        }
    }
    assert!(read_well > 100 && refused > 1_000, "{read_well} {refused}");
}
