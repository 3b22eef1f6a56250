"""What kube-scheduler and the API's validation do, as pure functions, in upstream's words."""
