const until = performance.now() + 600
while (performance.now() < until) Math.random() // line: imported
