kind: ConfigMap
{{- $t := toDate "2006-01-02 15:04:05" "2023-03-05 07:08:09" }}
iso: {{ $t | date "2006-01-02T15:04:05Z07:00" }}
kitchen: {{ $t | date "Mon Jan _2 3:04PM 2006" }}
zone: {{ dateInZone "2006-01-02 15:04 MST" $t "UTC" }}
epoch: {{ unixEpoch $t }}
later: {{ $t | dateModify "36h15m" | date "2006-01-02 15:04:05" }}
html: {{ htmlDate $t }}
duration: {{ duration "3661" }} {{ durationRound "2h10m5s" }}
number: {{ date "2006" 0 }} {{ dateInZone "15:04:05" 1700000000 "UTC" }}
json: {{ $t | toJson }}
text: {{ $t }}
