"""
Where well-known operators' custom resources keep constraints, one line a place.

    repository [commit] folder or file where it was read
      name of the kind   group/versions   kind   resource
        path of the constraints, or of a Pod template   what the operator makes of them

`keeps`: it copies the constraints as they are written.  `fills:…`: it fills in these fields where they are absent, ""
or 0.  `unknown`: it was not found out.  `own:…`: fields that the constraints have besides the API's, with each of which
the operator adds labels to the selector.  A commit of `-` means that the version is not known.
"""

from __future__ import annotations

KEEPS, UNKNOWN, FILLS, OWN = "keeps", "unknown", "fills:", "own:"

PLACES = """\
strimzi/strimzi-kafka-operator 0722320d984a api/src/main/java/io/strimzi/api/kafka/model
  strimzi-kafka kafka.strimzi.io/v1beta2,v1 Kafka kafkas
    spec.kafka.template.pod.topologySpreadConstraints keeps
    spec.zookeeper.template.pod.topologySpreadConstraints keeps
    spec.entityOperator.template.pod.topologySpreadConstraints keeps
    spec.cruiseControl.template.pod.topologySpreadConstraints keeps
    spec.kafkaExporter.template.pod.topologySpreadConstraints keeps
  strimzi-kafkanodepool kafka.strimzi.io/v1beta2,v1 KafkaNodePool kafkanodepools
    spec.template.pod.topologySpreadConstraints keeps
  strimzi-kafkaconnect kafka.strimzi.io/v1beta2,v1 KafkaConnect kafkaconnects
    spec.template.pod.topologySpreadConstraints keeps
    spec.template.buildPod.topologySpreadConstraints keeps
  strimzi-kafkamirrormaker kafka.strimzi.io/v1beta2 KafkaMirrorMaker kafkamirrormakers
    spec.template.pod.topologySpreadConstraints keeps
  strimzi-kafkamirrormaker2 kafka.strimzi.io/v1beta2,v1 KafkaMirrorMaker2 kafkamirrormaker2s
    spec.template.pod.topologySpreadConstraints keeps
  strimzi-kafkabridge kafka.strimzi.io/v1beta2,v1 KafkaBridge kafkabridges
    spec.template.pod.topologySpreadConstraints keeps
datreeio/CRDs-catalog 46701bf23b1e platform.confluent.io/kafka_v1beta1.json
  confluent-kafka platform.confluent.io/v1beta1 Kafka kafkas
    spec.podTemplate.topologySpreadConstraints unknown
datreeio/CRDs-catalog 61ee953fbfde platform.confluent.io/zookeeper_v1beta1.json
  confluent-zookeeper platform.confluent.io/v1beta1 Zookeeper zookeepers
    spec.podTemplate.topologySpreadConstraints unknown
VictoriaMetrics/operator 00215655f289 api/operator/v1beta1/vmextra_types.go
  victoriametrics-vmcluster operator.victoriametrics.com/v1beta1 VMCluster vmclusters
    spec.vminsert.topologySpreadConstraints fills:labelSelector
    spec.vmselect.topologySpreadConstraints fills:labelSelector
    spec.vmstorage.topologySpreadConstraints fills:labelSelector
    spec.requestsLoadBalancer.spec.topologySpreadConstraints unknown
  victoriametrics-vmagent operator.victoriametrics.com/v1beta1 VMAgent vmagents
    spec.topologySpreadConstraints fills:labelSelector
  victoriametrics-vmalert operator.victoriametrics.com/v1beta1 VMAlert vmalerts
    spec.topologySpreadConstraints fills:labelSelector
  victoriametrics-vmalertmanager operator.victoriametrics.com/v1beta1 VMAlertmanager vmalertmanagers
    spec.topologySpreadConstraints fills:labelSelector
  victoriametrics-vmauth operator.victoriametrics.com/v1beta1 VMAuth vmauths
    spec.topologySpreadConstraints fills:labelSelector
  victoriametrics-vmsingle operator.victoriametrics.com/v1beta1 VMSingle vmsingles
    spec.topologySpreadConstraints fills:labelSelector
VictoriaMetrics/operator - api/operator/v1
  victoriametrics-vlcluster operator.victoriametrics.com/v1 VLCluster vlclusters
    spec.vlinsert.topologySpreadConstraints fills:labelSelector
    spec.vlselect.topologySpreadConstraints fills:labelSelector
    spec.vlstorage.topologySpreadConstraints fills:labelSelector
    spec.requestsLoadBalancer.spec.topologySpreadConstraints unknown
  victoriametrics-vlagent operator.victoriametrics.com/v1 VLAgent vlagents
    spec.topologySpreadConstraints unknown
  victoriametrics-vlsingle operator.victoriametrics.com/v1 VLSingle vlsingles
    spec.topologySpreadConstraints unknown
  victoriametrics-vmanomaly operator.victoriametrics.com/v1 VMAnomaly vmanomalies
    spec.topologySpreadConstraints unknown
cloudnative-pg/cloudnative-pg 78b3ecc2e4fd api/v1
  cnpg-cluster postgresql.cnpg.io/v1 Cluster clusters
    spec.topologySpreadConstraints keeps
  cnpg-pooler postgresql.cnpg.io/v1 Pooler poolers
    spec.template unknown
CrunchyData/postgres-operator 91398e44dee5 pkg/apis/postgres-operator.crunchydata.com/v1beta1
  crunchy-postgrescluster postgres-operator.crunchydata.com/v1beta1 PostgresCluster postgresclusters
    spec.instances[*].topologySpreadConstraints keeps
    spec.proxy.pgBouncer.topologySpreadConstraints keeps
    spec.backups.pgbackrest.repoHost.topologySpreadConstraints keeps
CrunchyData/postgres-operator - pkg/apis/postgres-operator.crunchydata.com/v1beta1/pgadmin_types.go
  crunchy-postgrescluster postgres-operator.crunchydata.com/v1beta1 PostgresCluster postgresclusters
    spec.userInterface.pgAdmin.topologySpreadConstraints unknown
zalando/postgres-operator - pkg/apis/acid.zalan.do/v1/postgresql_type.go
  zalando-postgresql acid.zalan.do/v1 postgresql postgresqls
    spec.topologySpreadConstraints unknown
percona/percona-xtradb-cluster-operator - pkg/apis/pxc/v1/pxc_types.go
  percona-xtradbcluster pxc.percona.com/v1 PerconaXtraDBCluster perconaxtradbclusters
    spec.pxc.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
    spec.haproxy.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
    spec.proxysql.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
    spec.backup.storages{*}.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
percona/percona-server-mongodb-operator c3e27599b7fa pkg/apis/psmdb/v1
  percona-servermongodb psmdb.percona.com/v1 PerconaServerMongoDB perconaservermongodbs
    spec.replsets[*].topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
    spec.sharding.configsvrReplSet.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
    spec.sharding.mongos.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
percona/percona-postgresql-operator 018718a775e9 pkg/apis/pgv2.percona.com/v2/perconapgcluster_types.go
  percona-pgcluster pgv2.percona.com/v2 PerconaPGCluster perconapgclusters
    spec.instances[*].topologySpreadConstraints unknown
    spec.proxy.pgBouncer.topologySpreadConstraints unknown
    spec.backups.pgbackrest.repoHost.topologySpreadConstraints unknown
rook/rook - pkg/apis/ceph.rook.io/v1/types.go
  rook-cephcluster ceph.rook.io/v1 CephCluster cephclusters
    spec.placement{*}.topologySpreadConstraints keeps
    spec.storage.storageClassDeviceSets[*].placement.topologySpreadConstraints keeps
    spec.storage.storageClassDeviceSets[*].preparePlacement.topologySpreadConstraints keeps
rook/rook - Documentation/CRDs/Object-Storage/ceph-object-store-crd.md
  rook-cephobjectstore ceph.rook.io/v1 CephObjectStore cephobjectstores
    spec.gateway.placement.topologySpreadConstraints keeps
rook/rook - Documentation/CRDs/Shared-Filesystem/ceph-filesystem-crd.md
  rook-cephfilesystem ceph.rook.io/v1 CephFilesystem cephfilesystems
    spec.metadataServer.placement.topologySpreadConstraints keeps
dragonflydb/dragonfly-operator - api/v1alpha1/dragonfly_types.go
  dragonfly dragonflydb.io/v1alpha1 Dragonfly dragonflies
    spec.topologySpreadConstraints keeps
spotahome/redis-operator 04333bc9f7e7 api/redisfailover/v1/types.go
  redisfailover databases.spotahome.com/v1 RedisFailover redisfailovers
    spec.redis.topologySpreadConstraints keeps
    spec.sentinel.topologySpreadConstraints keeps
kubevirt/kubevirt b6f4e92e72df staging/src/kubevirt.io/api
  kubevirt-virtualmachine kubevirt.io/v1 VirtualMachine virtualmachines
    spec.template.spec.topologySpreadConstraints keeps
  kubevirt-virtualmachineinstance kubevirt.io/v1 VirtualMachineInstance virtualmachineinstances
    spec.topologySpreadConstraints keeps
  kubevirt-virtualmachinepool pool.kubevirt.io/v1alpha1,v1beta1 VirtualMachinePool virtualmachinepools
    spec.virtualMachineTemplate.spec.template.spec.topologySpreadConstraints keeps
prometheus-operator/prometheus-operator 035b6071001a pkg/apis/monitoring
  prometheus monitoring.coreos.com/v1 Prometheus prometheuses
    spec.topologySpreadConstraints keeps own:additionalLabelSelectors
  prometheusagent monitoring.coreos.com/v1alpha1 PrometheusAgent prometheusagents
    spec.topologySpreadConstraints keeps own:additionalLabelSelectors
  alertmanager monitoring.coreos.com/v1 Alertmanager alertmanagers
    spec.topologySpreadConstraints keeps
  thanosruler monitoring.coreos.com/v1 ThanosRuler thanosrulers
    spec.topologySpreadConstraints keeps
tektoncd/operator 8b91274958b5 pkg/apis/operator/v1alpha1/additional_options.go
  tektonconfig operator.tekton.dev/v1alpha1 TektonConfig tektonconfigs
    spec.pipeline.options.deployments{*}.spec.template unknown
    spec.hub.options.deployments{*}.spec.template unknown
    spec.result.options.deployments{*}.spec.template unknown
envoyproxy/gateway 006c6ae6efe6 api/v1alpha1/shared_types.go
  envoyproxy gateway.envoyproxy.io/v1alpha1 EnvoyProxy envoyproxies
    spec.provider.kubernetes.envoyDeployment.pod.topologySpreadConstraints keeps
    spec.provider.kubernetes.envoyDaemonSet.pod.topologySpreadConstraints unknown
elastic/cloud-on-k8s 005d417bd36b pkg/apis
  elastic-elasticsearch elasticsearch.k8s.elastic.co/v1 Elasticsearch elasticsearches
    spec.nodeSets[*].podTemplate unknown
  elastic-beat beat.k8s.elastic.co/v1beta1 Beat beats
    spec.deployment.podTemplate unknown
    spec.daemonSet.podTemplate unknown
  elastic-kibana kibana.k8s.elastic.co/v1 Kibana kibanas
    spec.podTemplate unknown
  elastic-logstash logstash.k8s.elastic.co/v1alpha1 Logstash logstashes
    spec.podTemplate unknown
open-telemetry/opentelemetry-operator 01416c28a436 apis/v1beta1/common.go
  opentelemetry-collector opentelemetry.io/v1alpha1,v1beta1 OpenTelemetryCollector opentelemetrycollectors
    spec.topologySpreadConstraints keeps
    spec.targetAllocator.topologySpreadConstraints unknown
  opentelemetry-targetallocator opentelemetry.io/v1alpha1 TargetAllocator targetallocators
    spec.topologySpreadConstraints unknown
ray-project/kuberay 0057210ed5a9 ray-operator/apis/ray/v1
  ray-raycluster ray.io/v1alpha1,v1 RayCluster rayclusters
    spec.headGroupSpec.template unknown
    spec.workerGroupSpecs[*].template unknown
  ray-rayjob ray.io/v1alpha1,v1 RayJob rayjobs
    spec.rayClusterSpec.headGroupSpec.template unknown
    spec.rayClusterSpec.workerGroupSpecs[*].template unknown
    spec.submitterPodTemplate unknown
  ray-rayservice ray.io/v1alpha1,v1 RayService rayservices
    spec.rayClusterConfig.headGroupSpec.template unknown
    spec.rayClusterConfig.workerGroupSpecs[*].template unknown
knative/serving - config/core/300-resources/service.yaml
  knative-service serving.knative.dev/v1 Service services
    spec.template unknown
  knative-configuration serving.knative.dev/v1 Configuration configurations
    spec.template unknown
knative/operator 249479b0a395 pkg/apis/operator/base/common.go
  knative-knativeserving operator.knative.dev/v1beta1 KnativeServing knativeservings
    spec.deployments[*].topologySpreadConstraints unknown
    spec.workloads[*].topologySpreadConstraints unknown
  knative-knativeeventing operator.knative.dev/v1beta1 KnativeEventing knativeeventings
    spec.deployments[*].topologySpreadConstraints unknown
    spec.workloads[*].topologySpreadConstraints unknown
mariadb-operator/mariadb-operator - api/v1alpha1
  mariadb k8s.mariadb.com/v1alpha1 MariaDB mariadbs
    spec.topologySpreadConstraints keeps
minio/operator - pkg/apis/minio.min.io/v2/types.go
  minio-tenant minio.min.io/v2 Tenant tenants
    spec.pools[*].topologySpreadConstraints keeps
"""
