// Carries TCP between two ports with Hysteria's library, for the comparison of benches/pair.py.
//
//	hysteria server LISTEN                 serves clients on a UDP port and connects them to any address they request
//	hysteria client LISTEN SERVER TO RATE  carries TCP from LISTEN to TO; RATE is Brutal's in Mbit/s (0: BBR)
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/apernet/hysteria/core/v2/client"
	"github.com/apernet/hysteria/core/v2/server"
)

type anyone struct{}

func (anyone) Authenticate(net.Addr, string, uint64) (bool, string) { return true, "bench" }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func certificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), DNSNames: []string{"bench"}}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	check(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func serve(listen string) {
	address, err := net.ResolveUDPAddr("udp", listen)
	check(err)
	socket, err := net.ListenUDP("udp", address)
	check(err)
	s, err := server.NewServer(&server.Config{
		TLSConfig:     server.TLSConfig{Certificates: []tls.Certificate{certificate()}},
		Conn:          socket,
		Authenticator: anyone{},
	})
	check(err)
	check(s.Serve())
}

func carry(listen, peer, to string, mbps uint64) {
	address, err := net.ResolveUDPAddr("udp", peer)
	check(err)
	rate := mbps * 1_000_000 / 8
	c, _, err := client.NewClient(&client.Config{
		ServerAddr:      address,
		TLSConfig:       client.TLSConfig{ServerName: "bench", InsecureSkipVerify: true},
		BandwidthConfig: client.BandwidthConfig{MaxTx: rate, MaxRx: rate},
	})
	check(err)
	listener, err := net.Listen("tcp", listen)
	check(err)
	for {
		here, err := listener.Accept()
		check(err)
		go func() {
			defer here.Close()
			there, err := c.TCP(to)
			if err != nil {
				return
			}
			defer there.Close()
			ended := make(chan bool, 2)
			go func() { io.Copy(there, here); ended <- true }()
			go func() { io.Copy(here, there); ended <- true }()
			<-ended
		}()
	}
}

func main() {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "server":
		serve(os.Args[2])
	case len(os.Args) == 6 && os.Args[1] == "client":
		mbps, err := strconv.ParseUint(os.Args[5], 10, 64)
		check(err)
		carry(os.Args[2], os.Args[3], os.Args[4], mbps)
	default:
		log.Fatal("usage: hysteria server LISTEN | hysteria client LISTEN SERVER TO RATE")
	}
}
