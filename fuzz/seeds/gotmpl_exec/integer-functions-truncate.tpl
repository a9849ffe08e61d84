kind: ConfigMap
add: {{ add 1 2.9 "3" }}
sub: {{ sub 5 2 }}
mul: {{ mul 2 3 4 }}
div: {{ div 7 2 }}
mod: {{ mod 7 3 }}
addf: {{ addf 0.1 0.2 }}
subf: {{ subf 1.0 0.9 }}
mulf: {{ mulf 1.1 1.1 }}
divf: {{ divf 1 3 }}
max: {{ max 1 5 3 }}
minf: {{ minf 1.5 0.5 }}
floor: {{ floor 1.7 }}
ceil: {{ ceil 1.2 }}
round: {{ round 1.2345 2 }}
int: {{ int "12abc" }} {{ int "12" }} {{ int64 3.9 }} {{ float64 "2.50" }} {{ atoi "x" }}
octal: {{ toDecimal "0777" }}
