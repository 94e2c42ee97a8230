module longfat-bench-hysteria

go 1.26.8
