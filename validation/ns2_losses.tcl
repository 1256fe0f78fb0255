# One run of ns-2 for ns2_losses.py. The arguments are names and values: variant, delayed, ecn, cap, first, slow (what 8 B
# take on the slow line, ns) and delay (us) of that line, buffer (packets, the one in service included), packets (0: without end),
# back (packets the other way, of two-way agents), seconds, nudge (see
# ns2_losses.py), then the arrival indices of what is lost and what is marked at r1 and of the ACKs lost at r2. Prints what enters the
# first link, the ACKs that reach the sender, and each change of its window and threshold.
array set case $argv
set ns [new Simulator]
remove-all-packet-headers
add-packet-header IP TCP Flags
foreach name {s r1 r2 d} { set $name [$ns node] }
set tcl_precision 17
set longer [expr {$case(nudge) / 100}]
$ns duplex-link $s $r1 [expr {64e9 / (6400 + $longer)}] 1ms DropTail
$ns duplex-link $r1 $r2 [expr {64e9 / ($case(slow) + $longer)}] [expr {$case(delay) * 1e-6}] DropTail
$ns duplex-link $r2 $d 10Mb [expr {1e-3 + $case(nudge) * 1e-9}] DropTail
foreach {from to} [list $s $r1 $r1 $s $r2 $r1 $r2 $d $d $r2] { $ns queue-limit $from $to 10000 }
$ns queue-limit $r1 $r2 $case(buffer)

Agent/TCP set ecn_ $case(ecn)
Agent/TCP set window_ $case(cap)
Agent/TCP set windowInit_ $case(first)
Agent/TCP set packetSize_ 960
Agent/TCP/FullTcp set segsize_ 960
Agent/TCP/FullTcp set segsperack_ [expr {1 + $case(delayed)}]
set full [string match Full* $case(variant)]
if {$full} {
    set kind Agent/TCP/FullTcp[string map {Full "" /Reno ""} $case(variant)]
    set tcp [new $kind]
    set sink [new $kind]
    Trace set show_tcphdr_ 1
} else {
    if {$case(variant) == "Tahoe"} { set tcp [new Agent/TCP] } else { set tcp [new Agent/TCP/$case(variant)] }
    set kind Agent/TCPSink
    if {$case(variant) == "Sack1"} { append kind /Sack1 }
    if {$case(delayed)} { append kind /DelAck }
    set sink [new $kind]
}
$ns attach-agent $s $tcp
$ns attach-agent $d $sink
$ns connect $tcp $sink
if {$full} { $sink listen }

# The models see all arrivals: what is marked is chosen before what is lost.
proc choose {from to indices marks} {
    global ns
    if {[llength $indices] == 0} return
    set model [new ErrorModel/List]
    $model unit pkt
    $model set markecn_ $marks
    $model droplist $indices
    $model drop-target [new Agent/Null]
    $ns lossmodel $model $from $to
}
choose $r1 $r2 $case(lost) 0
choose $r1 $r2 $case(marked) 1
choose $r2 $r1 $case(acks) 0

set out [open /dev/stdout w]
$ns trace-queue $s $r1 $out
$ns trace-queue $r1 $s $out
$tcp attach $out
foreach v {cwnd_ ssthresh_} { $tcp trace $v }
if {[info exists env(NS2_VARIABLES)]} {
    foreach v {backoff_ srtt_ dupacks_} { $tcp trace $v }
}
# With a nudge the last link grows by a nanosecond now and then: ACKs that the slow line has spaced would otherwise fall on
# its own instants.
proc grow {link step} {
    global ns case
    $link set delay_ [expr {1e-3 + ($case(nudge) + $step) * 1e-9}]
    incr step
    $ns at [expr {$step * 0.00537}] "grow $link $step"
}
if {$case(nudge)} { grow [[$ns link $r2 $d] link] 0 }
proc begin {agent packets} {
    global full
    set ftp [new Application/FTP]
    $ftp attach-agent $agent
    if {$packets == 0} { $ftp start } elseif {$full} { $ftp send [expr {960 * $packets}] } else { $agent advanceby $packets }
}
$ns at 0.1 "begin $tcp $case(packets)"
if {$case(back)} { $ns at 0.6 "begin $sink $case(back)" }
$ns at $case(seconds) "$ns halt"
$ns run
