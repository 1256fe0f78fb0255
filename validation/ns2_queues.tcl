# One run of ns-2 for queue_draws.py. The file that is named sets what is drawn:
#   seed rate delay size                bit/s, seconds, bytes on the wire
#   kind limit settings                 the queue, its queue-limit and its variables
#   flows                               a list of {group variant delay start rate depth}; with a rate the flow is tagged
#   from to                             the seconds that count
# Prints a line a figure.
source [lindex $argv 0]
set ns [new Simulator]
remove-all-packet-headers
add-packet-header IP TCP Flags Common
ns-random $seed
set r1 [$ns node]
set r2 [$ns node]
$ns simplex-link $r1 $r2 $rate $delay $kind
$ns simplex-link $r2 $r1 $rate $delay DropTail
$ns queue-limit $r1 $r2 $limit
$ns queue-limit $r2 $r1 100000
set queue [[$ns link $r1 $r2] queue]
foreach {name value} $settings { $queue set $name $value }

Agent/TCP set window_ 10000
Agent/TCP set packetSize_ [expr {$size - 40}]
set i 0
foreach flow $flows {
    lassign $flow group variant access start profile depth
    set s [$ns node]
    $ns duplex-link $s $r1 100Mb $access DropTail
    $ns queue-limit $s $r1 100000
    $ns queue-limit $r1 $s 100000
    set tcp [new Agent/TCP/$variant]
    set sink [new Agent/TCPSink[expr {$variant == "Sack1" ? "/Sack1" : ""}]]
    $tcp set fid_ [incr i]
    $ns attach-agent $s $tcp
    $ns attach-agent $r2 $sink
    $ns connect $tcp $sink
    if {$profile != ""} {
        set tagger [$ns maketbtagger Fid]
        $ns attach-tagger [$ns link $s $r1] $tagger
        [$tagger classifier] set-rate [$s id] [$r2 id] $i auto $profile $depth $depth
    }
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at $start "$ftp start"
    lappend members($group) $tcp
}
set monitor [$ns monitor-queue $r1 $r2 ""]

proc now_counted {} {
    global ns monitor members
    set waiting [$monitor get-pkts-integrator]
    $waiting newpoint [$ns now] [$waiting set lasty_]
    set counts [list [$waiting set sum_]]
    foreach name {parrivals_ pdrops_ bdepartures_} { lappend counts [$monitor set $name] }
    foreach group [lsort [array names members]] {
        set sum 0
        foreach tcp $members($group) { incr sum [$tcp set ack_] }
        lappend counts $sum
    }
    return $counts
}
proc finish {} {
    global before ns
    set differences {}
    foreach a $before b [now_counted] { lappend differences [expr {$b - $a}] }
    puts $differences
    $ns halt
}
$ns at $from {set before [now_counted]}
$ns at $to finish
$ns run
