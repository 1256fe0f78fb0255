# One run of ns-2 for queue_packets.py. The file that is named sets rate (bit/s), kind, limit, settings of the queue, and
# arrivals: a list of {seconds flow bytes}, each at the queue at exactly that time. Prints what leaves (-) and what is dropped
# (d), each with its flow and its number in it, from 0.
source [lindex $argv 0]
set ns [new Simulator]
remove-all-packet-headers
add-packet-header IP Flags RTP Common
set r1 [$ns node]
set r2 [$ns node]
$ns simplex-link $r1 $r2 $rate 1ms $kind
$ns simplex-link $r2 $r1 $rate 1ms DropTail
$ns queue-limit $r1 $r2 $limit
set queue [[$ns link $r1 $r2] queue]
foreach {name value} $settings { $queue set $name $value }
set out [open [lindex $argv 1] w]
$ns trace-queue $r1 $r2 $out
set sink [new Agent/Null]
$ns attach-agent $r2 $sink
foreach arrival $arrivals {
    lassign $arrival at flow bytes
    if {![info exists udp($flow)]} {
        set s [$ns node]
        $ns simplex-link $s $r1 1e15 0 DropTail
        $ns simplex-link $r1 $s 1e15 0 DropTail
        set udp($flow) [new Agent/UDP]
        $udp($flow) set fid_ $flow
        $udp($flow) set packetSize_ 65535
        $ns attach-agent $s $udp($flow)
        $ns connect $udp($flow) $sink
    }
    $ns at $at "$udp($flow) send $bytes"
}
$ns at [expr {$at + 100}] {close $out; exit 0}
$ns run
