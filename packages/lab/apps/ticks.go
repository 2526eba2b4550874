// Like ticks.js, with a ticker of Go.
package main

import (
	"os"
	"strconv"
	"time"
)

func main() {
	rate, _ := strconv.ParseFloat(os.Getenv("RATE"), 64)
	lengthMs, _ := strconv.Atoi(os.Getenv("LENGTH_MS"))
	atMs := []float64{}
	started := time.Now()
	since := func() float64 { return float64(time.Since(started).Nanoseconds()) / 1e6 }
	ticker := time.NewTicker(time.Duration(float64(time.Second) / rate))
	end := time.After(time.Duration(lengthMs) * time.Millisecond)
	for {
		select {
		case <-ticker.C:
			atMs = append(atMs, since())
		case <-end:
			elapsedMs := since()
			// Writes JSON by hand: without encoding/json the program compiles in half the time.
			text := []byte(`{"atMs":[`)
			for i, ms := range atMs {
				if i > 0 {
					text = append(text, ',')
				}
				text = strconv.AppendFloat(text, ms, 'f', -1, 64)
			}
			text = strconv.AppendFloat(append(text, `],"elapsedMs":`...), elapsedMs, 'f', -1, 64)
			_, _ = os.Stdout.Write(append(text, '}'))
			return
		}
	}
}
