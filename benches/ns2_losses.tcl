# One run of ns-2 for ns2_losses.py: variant, delayed ACKs, ECN, window cap, initial window, seconds, nudge, then the
# arrival indices of what is lost and what is marked at r1 and of the ACKs lost at r2. Prints the packets that enter and
# leave the first link.
lassign $argv variant delayed ecn cap first seconds nudge lost marked acks_lost
set ns [new Simulator]
remove-all-packet-headers
add-packet-header IP TCP Flags
foreach name {s r1 r2 d} { set $name [$ns node] }
$ns duplex-link $s $r1 10Mb 1ms DropTail
$ns duplex-link $r1 $r2 1Mb 20ms DropTail
$ns duplex-link $r2 $d 10Mb [expr {1e-3 + $nudge * 1e-9}] DropTail
foreach {from to} [list $s $r1 $r1 $s $r1 $r2 $r2 $r1 $r2 $d $d $r2] { $ns queue-limit $from $to 100 }

Agent/TCP set ecn_ $ecn
Agent/TCP set window_ $cap
Agent/TCP set windowInit_ $first
Agent/TCP set packetSize_ 960
if {$variant == "Tahoe"} { set tcp [new Agent/TCP] } else { set tcp [new Agent/TCP/$variant] }
set kind Agent/TCPSink
if {$variant == "Sack1"} { append kind /Sack1 }
if {$delayed} { append kind /DelAck }
set sink [new $kind]
$ns attach-agent $s $tcp
$ns attach-agent $d $sink
$ns connect $tcp $sink

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
choose $r1 $r2 $lost 0
choose $r1 $r2 $marked 1
choose $r2 $r1 $acks_lost 0

set out [open /dev/stdout w]
$ns trace-queue $s $r1 $out
if {[info exists env(NS2_VARIABLES)]} {
    $tcp attach $out
    foreach v {cwnd_ ssthresh_ backoff_ srtt_ dupacks_} { $tcp trace $v }
    $ns trace-queue $r1 $s $out
}
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0.1 "$ftp start"
$ns at $seconds "$ns halt"
$ns run
