"""Reads captures as traffic: the frames of pcap and pcapng, decoded down to TCP and UDP, as flows."""
