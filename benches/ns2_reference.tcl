# The reference of the benchmark (benches/reference.toml) for ns-2.35: so many Reno flows of 5 Mb/s, for so many seconds.
#
#     time ns benches/ns2_reference.tcl 100 50
set n [lindex $argv 0]; set dur [lindex $argv 1]
set ns [new Simulator]
$ns use-scheduler Heap
remove-all-packet-headers
add-packet-header IP TCP
set l [$ns node]; set r [$ns node]
$ns duplex-link $l $r [expr 5*$n]Mb 49.5ms DropTail
$ns queue-limit $l $r [expr 10*$n]
$ns queue-limit $r $l 1000000
Agent/TCP set packetSize_ 1460
Agent/TCP set window_ 10000
set rng [new RNG]; $rng seed 1
for {set i 0} {$i < $n} {incr i} {
  set s [$ns node]
  $ns duplex-link $s $l 10Mb 0.5ms DropTail
  $ns queue-limit $s $l 1000000
  set tcp [new Agent/TCP/Reno]; set sink [new Agent/TCPSink]
  $ns attach-agent $s $tcp; $ns attach-agent $r $sink
  $ns connect $tcp $sink
  set ftp [new Application/FTP]; $ftp attach-agent $tcp
  $ns at [$rng uniform 0 1.0] "$ftp start"
  lappend sinks $tcp
}
$ns at $dur "fin"
proc fin {} { global sinks; set t 0; foreach s $sinks { set t [expr $t+[$s set ack_]] }; puts "acked $t"; exit 0 }
$ns run
