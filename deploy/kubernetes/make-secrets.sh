#!/bin/sh
# Makes certificates in a directory and puts them into the namespace as secrets. ca.key goes nowhere.
#   deploy/kubernetes/make-secrets.sh ./certs
set -eu
dir=$1
nimbus certs "$dir" --coordinator coordinator-0 --coordinator coordinator-1 \
    --node node-0 --node node-1 --node node-2 --node node-3 --gateway gateway-0
secret() {
    name=$1
    shift
    files="--from-file=$dir/ca.pem"
    for process in "$@"; do
        files="$files --from-file=$dir/$process.pem --from-file=$dir/$process.key"
    done
    # shellcheck disable=SC2086
    kubectl -n nimbus create secret generic "$name" $files --dry-run=client -o yaml | kubectl apply -f -
}
secret certs-coordinator-0 coordinator-0
secret certs-coordinator-1 coordinator-1
secret certs-nodes node-0 node-1 node-2 node-3
secret certs-gateway-0 gateway-0
