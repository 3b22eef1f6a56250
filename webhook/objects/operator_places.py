"""
Where well-known operators' custom resources keep constraints, one line a place.

    repository [commit] folder or file where it was read
      name of the kind   group/versions   kind   [resource, if it is not the kind in lower case with an s]
        path of the constraints, or of a Pod template   what the operator makes of them

`keeps`: it copies the constraints as they are written.  `fills:…`: it fills in these fields where they are absent, ""
or 0.  `sets:…`: these fields get its own values, whatever is written.  `unknown`: it was not found out.  `own:…`:
fields that the constraints have besides the API's, with each of which the operator adds labels to the selector.
`replicas:…`: the path of the number of these Pods, where the operator adds no constraints if the object has none.
A commit of `-` means that the version is not known.

LABELS_GIVEN are labels that all Pods of a kind have, one line a label: its key, then the names of the kinds.  Its
value is the name of the object, or what `=` gives.  `?` says that the object may itself give another, wherever it names
the key but in a selector.
"""

from __future__ import annotations

KEEPS, UNKNOWN, FILLS, SETS, RULE_OF_ITS_OWN = "keeps", "unknown", "fills:", "sets:", "own:"
REPLICAS = "replicas:"

OPERATOR_PLACES = """\
strimzi/strimzi-kafka-operator 0722320d984a api/src/main/java/io/strimzi/api/kafka/model
  strimzi-kafka kafka.strimzi.io/v1beta2,v1 Kafka
    spec.kafka.template.pod.topologySpreadConstraints keeps
    spec.zookeeper.template.pod.topologySpreadConstraints keeps
    spec.entityOperator.template.pod.topologySpreadConstraints keeps
    spec.cruiseControl.template.pod.topologySpreadConstraints keeps
    spec.kafkaExporter.template.pod.topologySpreadConstraints keeps
  strimzi-kafkanodepool kafka.strimzi.io/v1beta2,v1 KafkaNodePool
    spec.template.pod.topologySpreadConstraints keeps
  strimzi-kafkaconnect kafka.strimzi.io/v1beta2,v1 KafkaConnect
    spec.template.pod.topologySpreadConstraints keeps replicas:spec.replicas
    spec.template.buildPod.topologySpreadConstraints keeps
  strimzi-kafkamirrormaker kafka.strimzi.io/v1beta2 KafkaMirrorMaker
    spec.template.pod.topologySpreadConstraints keeps
  strimzi-kafkamirrormaker2 kafka.strimzi.io/v1beta2,v1 KafkaMirrorMaker2
    spec.template.pod.topologySpreadConstraints keeps replicas:spec.replicas
  strimzi-kafkabridge kafka.strimzi.io/v1beta2,v1 KafkaBridge
    spec.template.pod.topologySpreadConstraints keeps replicas:spec.replicas
datreeio/CRDs-catalog 46701bf23b1e platform.confluent.io/kafka_v1beta1.json
  confluent-kafka platform.confluent.io/v1beta1 Kafka
    spec.podTemplate.topologySpreadConstraints unknown
datreeio/CRDs-catalog 61ee953fbfde platform.confluent.io/zookeeper_v1beta1.json
  confluent-zookeeper platform.confluent.io/v1beta1 Zookeeper
    spec.podTemplate.topologySpreadConstraints unknown
VictoriaMetrics/operator 00215655f289 api/operator/v1beta1/vmextra_types.go
  victoriametrics-vmcluster operator.victoriametrics.com/v1beta1 VMCluster
    spec.vminsert.topologySpreadConstraints fills:labelSelector
    spec.vmselect.topologySpreadConstraints fills:labelSelector
    spec.vmstorage.topologySpreadConstraints fills:labelSelector
    spec.requestsLoadBalancer.spec.topologySpreadConstraints unknown
  victoriametrics-vmagent operator.victoriametrics.com/v1beta1 VMAgent
    spec.topologySpreadConstraints fills:labelSelector
  victoriametrics-vmalert operator.victoriametrics.com/v1beta1 VMAlert
    spec.topologySpreadConstraints fills:labelSelector
  victoriametrics-vmalertmanager operator.victoriametrics.com/v1beta1 VMAlertmanager
    spec.topologySpreadConstraints fills:labelSelector
  victoriametrics-vmauth operator.victoriametrics.com/v1beta1 VMAuth
    spec.topologySpreadConstraints fills:labelSelector
  victoriametrics-vmsingle operator.victoriametrics.com/v1beta1 VMSingle
    spec.topologySpreadConstraints fills:labelSelector
VictoriaMetrics/operator 025dffa24f71 api/operator/v1
  victoriametrics-vlcluster operator.victoriametrics.com/v1 VLCluster
    spec.vlinsert.topologySpreadConstraints fills:labelSelector
    spec.vlselect.topologySpreadConstraints fills:labelSelector
    spec.vlstorage.topologySpreadConstraints fills:labelSelector
    spec.requestsLoadBalancer.spec.topologySpreadConstraints unknown
  victoriametrics-vtcluster operator.victoriametrics.com/v1 VTCluster
    spec.requestsLoadBalancer.spec.topologySpreadConstraints unknown
VictoriaMetrics/operator 1ac6b7a7369a internal/controller/operator/factory/vtcluster/select.go
  victoriametrics-vtcluster operator.victoriametrics.com/v1 VTCluster
    spec.select.topologySpreadConstraints fills:labelSelector
VictoriaMetrics/operator db7084d4bc8d internal/controller/operator/factory/vtcluster/storage.go
  victoriametrics-vtcluster operator.victoriametrics.com/v1 VTCluster
    spec.storage.topologySpreadConstraints fills:labelSelector
VictoriaMetrics/operator 0800758eb39f internal/controller/operator/factory/vtcluster/insert.go
  victoriametrics-vtcluster operator.victoriametrics.com/v1 VTCluster
    spec.insert.topologySpreadConstraints fills:labelSelector
VictoriaMetrics/operator 032bf383c225 api/operator/v1/vtsingle_types.go
  victoriametrics-vtsingle operator.victoriametrics.com/v1 VTSingle
    spec.topologySpreadConstraints unknown
VictoriaMetrics/operator c1b472b6a9d5 internal/controller/operator/factory/vtagent/vtagent.go
  victoriametrics-vtagent operator.victoriametrics.com/v1 VTAgent
    spec.topologySpreadConstraints fills:labelSelector
VictoriaMetrics/operator 77a1af0f48cb api/operator/v1/vmestimator_types.go
  victoriametrics-vmestimator operator.victoriametrics.com/v1 VMEstimator
    spec.single.topologySpreadConstraints fills:labelSelector
    spec.storage.topologySpreadConstraints fills:labelSelector
    spec.select.topologySpreadConstraints fills:labelSelector
VictoriaMetrics/operator 16e3c3f37a13 internal/controller/operator/factory/vmanomaly/pod.go
  victoriametrics-vmanomaly operator.victoriametrics.com/v1 VMAnomaly vmanomalies
    spec.topologySpreadConstraints fills:labelSelector
VictoriaMetrics/operator - api/operator/v1
  victoriametrics-vlagent operator.victoriametrics.com/v1 VLAgent
    spec.topologySpreadConstraints unknown
  victoriametrics-vlsingle operator.victoriametrics.com/v1 VLSingle
    spec.topologySpreadConstraints unknown
cloudnative-pg/cloudnative-pg 78b3ecc2e4fd api/v1
  cnpg-cluster postgresql.cnpg.io/v1 Cluster
    spec.topologySpreadConstraints keeps replicas:spec.instances
cloudnative-pg/cloudnative-pg 04a7b7deecab pkg/specs/pgbouncer/deployments.go
  cnpg-pooler postgresql.cnpg.io/v1 Pooler
    spec.template keeps replicas:spec.instances
CrunchyData/postgres-operator 91398e44dee5 pkg/apis/postgres-operator.crunchydata.com/v1beta1
  crunchy-postgrescluster postgres-operator.crunchydata.com/v1beta1,v1 PostgresCluster
    spec.instances[*].topologySpreadConstraints keeps
    spec.proxy.pgBouncer.topologySpreadConstraints keeps
    spec.backups.pgbackrest.repoHost.topologySpreadConstraints keeps
CrunchyData/postgres-operator 0156a8a6ca9b internal/controller/postgrescluster/pgadmin.go
  crunchy-postgrescluster postgres-operator.crunchydata.com/v1beta1,v1 PostgresCluster
    spec.userInterface.pgAdmin.topologySpreadConstraints keeps
zalando/postgres-operator - pkg/apis/acid.zalan.do/v1/postgresql_type.go
  zalando-postgresql acid.zalan.do/v1 postgresql
    spec.topologySpreadConstraints unknown
percona/percona-xtradb-cluster-operator - pkg/apis/pxc/v1/pxc_types.go
  percona-xtradbcluster pxc.percona.com/v1 PerconaXtraDBCluster
    spec.pxc.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
    spec.haproxy.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
    spec.proxysql.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
    spec.backup.storages{*}.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
percona/percona-server-mongodb-operator c3e27599b7fa pkg/apis/psmdb/v1
  percona-servermongodb psmdb.percona.com/v1 PerconaServerMongoDB
    spec.replsets[*].topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
    spec.sharding.configsvrReplSet.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
    spec.sharding.mongos.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
percona/percona-server-mongodb-operator - pkg/apis/psmdb/v1/psmdb_defaults.go
  percona-servermongodb psmdb.percona.com/v1 PerconaServerMongoDB
    spec.replsets[*].nonvoting.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
    spec.replsets[*].hidden.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
percona/percona-server-mysql-operator 00b4293377ef api/v1/perconaservermysql_types.go
  percona-servermysql ps.percona.com/v1,v1alpha1 PerconaServerMySQL
    spec.mysql.topologySpreadConstraints fills:labelSelector
    spec.orchestrator.topologySpreadConstraints fills:labelSelector
    spec.proxy.haproxy.topologySpreadConstraints fills:labelSelector
    spec.proxy.router.topologySpreadConstraints fills:labelSelector
    spec.backup.pitr.binlogServer.topologySpreadConstraints unknown
    spec.backup.storages{*}.topologySpreadConstraints unknown
percona/percona-postgresql-operator 05e8b7d2ce87 internal/controller/postgrescluster/pgbouncer.go
  percona-pgcluster pgv2.percona.com/v2 PerconaPGCluster
    spec.proxy.pgBouncer.topologySpreadConstraints keeps
percona/percona-postgresql-operator 018718a775e9 pkg/apis/pgv2.percona.com/v2/perconapgcluster_types.go
  percona-pgcluster pgv2.percona.com/v2 PerconaPGCluster
    spec.instances[*].topologySpreadConstraints keeps
    spec.backups.pgbackrest.repoHost.topologySpreadConstraints unknown
rook/rook - pkg/apis/ceph.rook.io/v1/types.go
  rook-cephcluster ceph.rook.io/v1 CephCluster
    spec.placement{*}.topologySpreadConstraints keeps
    spec.storage.storageClassDeviceSets[*].placement.topologySpreadConstraints keeps
    spec.storage.storageClassDeviceSets[*].preparePlacement.topologySpreadConstraints keeps
rook/rook - Documentation/CRDs/Object-Storage/ceph-object-store-crd.md
  rook-cephobjectstore ceph.rook.io/v1 CephObjectStore
    spec.gateway.placement.topologySpreadConstraints keeps
rook/rook - Documentation/CRDs/Shared-Filesystem/ceph-filesystem-crd.md
  rook-cephfilesystem ceph.rook.io/v1 CephFilesystem
    spec.metadataServer.placement.topologySpreadConstraints keeps
rook/rook 804c418fe440 pkg/apis/ceph.rook.io/v1/placement.go
  rook-cephnfs ceph.rook.io/v1 CephNFS cephnfses
    spec.server.placement.topologySpreadConstraints keeps
  rook-cephrbdmirror ceph.rook.io/v1 CephRBDMirror
    spec.placement.topologySpreadConstraints keeps
  rook-cephfilesystemmirror ceph.rook.io/v1 CephFilesystemMirror
    spec.placement.topologySpreadConstraints keeps
dragonflydb/dragonfly-operator - api/v1alpha1/dragonfly_types.go
  dragonfly dragonflydb.io/v1alpha1 Dragonfly dragonflies
    spec.topologySpreadConstraints keeps
spotahome/redis-operator 04333bc9f7e7 api/redisfailover/v1/types.go
  redisfailover databases.spotahome.com/v1 RedisFailover
    spec.redis.topologySpreadConstraints keeps
    spec.sentinel.topologySpreadConstraints keeps
OT-CONTAINER-KIT/redis-operator 01a290557d10 internal/k8sutils/statefulset.go
  redis-rediscluster redis.redis.opstreelabs.in/v1beta2 RedisCluster
    spec.redisLeader.topologySpreadConstraints keeps
    spec.redisFollower.topologySpreadConstraints keeps
OT-CONTAINER-KIT/redis-operator - internal/k8sutils/redis-replication.go
  redis-redisreplication redis.redis.opstreelabs.in/v1beta2 RedisReplication
    spec.topologySpreadConstraints keeps
OT-CONTAINER-KIT/redis-operator - internal/k8sutils/redis-sentinel.go
  redis-redissentinel redis.redis.opstreelabs.in/v1beta2 RedisSentinel
    spec.topologySpreadConstraints keeps
kubevirt/kubevirt b6f4e92e72df staging/src/kubevirt.io/api
  kubevirt-virtualmachine kubevirt.io/v1,v1alpha3 VirtualMachine
    spec.template.spec.topologySpreadConstraints keeps
  kubevirt-virtualmachineinstance kubevirt.io/v1,v1alpha3 VirtualMachineInstance
    spec.topologySpreadConstraints keeps
  kubevirt-virtualmachinepool pool.kubevirt.io/v1alpha1,v1beta1 VirtualMachinePool
    spec.virtualMachineTemplate.spec.template.spec.topologySpreadConstraints keeps
prometheus-operator/prometheus-operator 035b6071001a pkg/apis/monitoring
  prometheus monitoring.coreos.com/v1 Prometheus prometheuses
    spec.topologySpreadConstraints keeps own:additionalLabelSelectors replicas:spec.replicas
  prometheusagent monitoring.coreos.com/v1alpha1 PrometheusAgent
    spec.topologySpreadConstraints keeps own:additionalLabelSelectors replicas:spec.replicas
  alertmanager monitoring.coreos.com/v1 Alertmanager
    spec.topologySpreadConstraints keeps replicas:spec.replicas
  thanosruler monitoring.coreos.com/v1 ThanosRuler
    spec.topologySpreadConstraints keeps replicas:spec.replicas
tektoncd/operator - pkg/reconciler/common
  tektonconfig operator.tekton.dev/v1alpha1 TektonConfig
    spec.pipeline.options.deployments{*}.spec.template keeps
    spec.hub.options.deployments{*}.spec.template keeps
    spec.result.options.deployments{*}.spec.template keeps
    spec.trigger.options.deployments{*}.spec.template keeps
    spec.trigger.options.statefulSets{*}.spec.template keeps
    spec.result.options.statefulSets{*}.spec.template keeps
  tektontrigger operator.tekton.dev/v1alpha1 TektonTrigger
    spec.options.deployments{*}.spec.template keeps
    spec.options.statefulSets{*}.spec.template keeps
  tektonresult operator.tekton.dev/v1alpha1 TektonResult
    spec.options.deployments{*}.spec.template keeps
    spec.options.statefulSets{*}.spec.template keeps
tektoncd/pipeline 7384a67b77c0 pkg/pod/pod.go
  tekton-taskrun tekton.dev/v1beta1,v1 TaskRun
    spec.podTemplate.topologySpreadConstraints keeps
  tekton-pipelinerun tekton.dev/v1 PipelineRun
    spec.taskRunTemplate.podTemplate.topologySpreadConstraints keeps
envoyproxy/gateway 006c6ae6efe6 api/v1alpha1/shared_types.go
  envoyproxy gateway.envoyproxy.io/v1alpha1 EnvoyProxy envoyproxies
    spec.provider.kubernetes.envoyDeployment.pod.topologySpreadConstraints keeps
envoyproxy/gateway 00ec57c29543 internal/infrastructure/kubernetes/proxy/resource_provider.go
  envoyproxy gateway.envoyproxy.io/v1alpha1 EnvoyProxy envoyproxies
    spec.provider.kubernetes.envoyDaemonSet.pod.topologySpreadConstraints keeps
elastic/cloud-on-k8s 005d417bd36b pkg/apis
  elastic-elasticsearch elasticsearch.k8s.elastic.co/v1 Elasticsearch elasticsearches
    spec.nodeSets[*].podTemplate keeps
  elastic-beat beat.k8s.elastic.co/v1beta1 Beat
    spec.deployment.podTemplate keeps
    spec.daemonSet.podTemplate keeps
  elastic-kibana kibana.k8s.elastic.co/v1 Kibana
    spec.podTemplate keeps
  elastic-logstash logstash.k8s.elastic.co/v1alpha1 Logstash logstashes
    spec.podTemplate keeps
elastic/cloud-on-k8s 0449f62a751e pkg/apis/agent/v1alpha1/agent_types.go
  elastic-agent agent.k8s.elastic.co/v1alpha1 Agent
    spec.deployment.podTemplate keeps
    spec.daemonSet.podTemplate keeps
    spec.statefulSet.podTemplate keeps
elastic/cloud-on-k8s 04b538d34076 pkg/apis/apm/v1/apmserver_types.go
  elastic-apmserver apm.k8s.elastic.co/v1 ApmServer
    spec.podTemplate keeps
elastic/cloud-on-k8s 060d55be656f pkg/apis/enterprisesearch/v1/enterprisesearch_types.go
  elastic-enterprisesearch enterprisesearch.k8s.elastic.co/v1 EnterpriseSearch enterprisesearches
    spec.podTemplate keeps
elastic/cloud-on-k8s 094a1a9401bc pkg/apis/maps/v1alpha1/maps_types.go
  elastic-mapsserver maps.k8s.elastic.co/v1alpha1 ElasticMapsServer
    spec.podTemplate keeps
open-telemetry/opentelemetry-operator 01416c28a436 apis/v1beta1/common.go
  opentelemetry-collector opentelemetry.io/v1alpha1,v1beta1 OpenTelemetryCollector
    spec.topologySpreadConstraints keeps
open-telemetry/opentelemetry-operator 15a5161f1730 internal/manifests/targetallocator/deployment.go
  opentelemetry-collector opentelemetry.io/v1alpha1,v1beta1 OpenTelemetryCollector
    spec.targetAllocator.topologySpreadConstraints keeps
open-telemetry/opentelemetry-operator 309a0e0caafb internal/manifests/targetallocator/deployment.go
  opentelemetry-targetallocator opentelemetry.io/v1alpha1 TargetAllocator
    spec.topologySpreadConstraints keeps
ray-project/kuberay - ray-operator/controllers/ray
  ray-raycluster ray.io/v1alpha1,v1 RayCluster
    spec.headGroupSpec.template keeps
    spec.workerGroupSpecs[*].template keeps
  ray-rayjob ray.io/v1alpha1,v1 RayJob
    spec.rayClusterSpec.headGroupSpec.template keeps
    spec.rayClusterSpec.workerGroupSpecs[*].template keeps
    spec.submitterPodTemplate keeps
  ray-rayservice ray.io/v1alpha1,v1 RayService
    spec.rayClusterConfig.headGroupSpec.template keeps
    spec.rayClusterConfig.workerGroupSpecs[*].template keeps
knative/serving - pkg/reconciler/revision/resources/deploy.go
  knative-service serving.knative.dev/v1 Service
    spec.template keeps
  knative-configuration serving.knative.dev/v1 Configuration
    spec.template keeps
knative/operator 9f4b20a194c6 pkg/reconciler/common/workload_override.go
  knative-knativeserving operator.knative.dev/v1beta1 KnativeServing
    spec.deployments[*].topologySpreadConstraints keeps
    spec.workloads[*].topologySpreadConstraints keeps
  knative-knativeeventing operator.knative.dev/v1beta1 KnativeEventing
    spec.deployments[*].topologySpreadConstraints keeps
    spec.workloads[*].topologySpreadConstraints keeps
mariadb-operator/mariadb-operator - api/v1alpha1
  mariadb k8s.mariadb.com/v1alpha1 MariaDB
    spec.topologySpreadConstraints keeps
mariadb-operator/mariadb-operator 583d2bf3ffd6 api/v1alpha1/maxscale_types.go
  mariadb-maxscale k8s.mariadb.com/v1alpha1 MaxScale
    spec.topologySpreadConstraints keeps
minio/operator - pkg/apis/minio.min.io/v2/types.go
  minio-tenant minio.min.io/v2 Tenant
    spec.pools[*].topologySpreadConstraints keeps
apache/solr-operator c8220e96d237 api/v1beta1/common_types.go
  solr-solrcloud solr.apache.org/v1beta1 SolrCloud
    spec.customSolrKubeOptions.podOptions.topologySpreadConstraints fills:labelSelector
  solr-prometheusexporter solr.apache.org/v1beta1 SolrPrometheusExporter
    spec.customKubeOptions.podOptions.topologySpreadConstraints fills:labelSelector
opensearch-project/opensearch-k8s-operator 001ce3dbd8a3 opensearch-operator/pkg/builders/cluster.go
  opensearch-opster-cluster opensearch.opster.io/v1 OpenSearchCluster
    spec.nodePools[*].topologySpreadConstraints keeps
opensearch-project/opensearch-k8s-operator 00808835fcd5 opensearch-operator/api/opensearch.org/v1/opensearch_types.go
  opensearch-cluster opensearch.org/v1 OpenSearchCluster
    spec.nodePools[*].topologySpreadConstraints unknown
    spec.dashboards.topologySpreadConstraints unknown
keycloak/keycloak 0064e060fc5d operator/src/main/java/org/keycloak/operator
  keycloak k8s.keycloak.org/v2alpha1,v2beta1 Keycloak
    spec.scheduling.topologySpreadConstraints keeps
    spec.unsupported.podTemplate keeps
rabbitmq/cluster-operator 039848e02910 api/v1beta1/rabbitmqcluster_types.go
  rabbitmq-cluster rabbitmq.com/v1beta1 RabbitmqCluster
    spec.override.statefulSet.spec.template unknown
mongodb/mongodb-kubernetes-operator 025b8f85fa08 api/v1/mongodbcommunity_types.go
  mongodb-community mongodbcommunity.mongodb.com/v1 MongoDBCommunity mongodbcommunity
    spec.statefulSet.spec.template unknown
Altinity/clickhouse-operator - pkg/apis/clickhouse.altinity.com/v1
  clickhouse-installation clickhouse.altinity.com/v1 ClickHouseInstallation
    spec.templates.podTemplates[*] unknown
k8ssandra/cass-operator - pkg/reconciliation/construct_podtemplatespec.go
  cassandra-datacenter cassandra.datastax.com/v1beta1 CassandraDatacenter
    spec.podTemplateSpec keeps
mysql/mysql-operator 02d86fd7e895 helm/mysql-operator/crds/crd.yaml
  mysql-innodbcluster mysql.oracle.com/v2 InnoDBCluster
    spec.podSpec.topologySpreadConstraints unknown
    spec.router.podSpec.topologySpreadConstraints unknown
grafana/grafana-operator - controllers/reconcilers/grafana/deployment_reconciler.go
  grafana grafana.integreatly.org/v1beta1 Grafana
    spec.deployment.spec.template keeps
apache/flink-kubernetes-operator 225dc39d967a flink-kubernetes-operator-api/src/main/java
  flink-deployment flink.apache.org/v1beta1 FlinkDeployment
    spec.podTemplate unknown
    spec.jobManager.podTemplate unknown
    spec.taskManager.podTemplate unknown
kubeflow/spark-operator 420a2485eecd api/v1beta2/sparkapplication_types.go
  spark-application sparkoperator.k8s.io/v1beta2 SparkApplication
    spec.driver.template unknown
    spec.executor.template unknown
kserve/kserve 0217bdabaaa2 pkg/apis/serving/v1beta1
  kserve-inferenceservice serving.kserve.io/v1beta1 InferenceService
    spec.predictor.topologySpreadConstraints unknown
    spec.predictor.workerSpec.topologySpreadConstraints unknown
    spec.transformer.topologySpreadConstraints unknown
kubeflow/training-operator - pkg/controller.v1
  kubeflow-pytorchjob kubeflow.org/v1 PyTorchJob
    spec.pytorchReplicaSpecs{*}.template keeps
  kubeflow-tfjob kubeflow.org/v1 TFJob
    spec.tfReplicaSpecs{*}.template keeps
  kubeflow-xgboostjob kubeflow.org/v1 XGBoostJob
    spec.xgbReplicaSpecs{*}.template keeps
kubeflow/training-operator 5fa872ff10ed pkg/apis/kubeflow.org/v1/mpi_types.go
  kubeflow-mpijob kubeflow.org/v1,v2beta1 MPIJob
    spec.mpiReplicaSpecs{*}.template unknown
kubeflow/kubeflow - components/notebook-controller/controllers/notebook_controller.go
  kubeflow-notebook kubeflow.org/v1 Notebook
    spec.template keeps
kubernetes-sigs/jobset - pkg/controllers/jobset_controller.go
  jobset jobset.x-k8s.io/v1alpha2 JobSet
    spec.replicatedJobs[*].template.spec.template keeps
kedacore/keda 7f17c10c98ce pkg/scaling/executor/scale_jobs.go
  keda-scaledjob keda.sh/v1alpha1 ScaledJob
    spec.jobTargetRef.template keeps
volcano-sh/volcano - pkg/controllers/job/job_controller_util.go
  volcano-job batch.volcano.sh/v1alpha1 Job
    spec.tasks[*].template keeps
actions/actions-runner-controller - controllers/actions.github.com/resourcebuilder.go
  actions-autoscalingrunnerset actions.github.com/v1alpha1 AutoscalingRunnerSet
    spec.template keeps
    spec.listenerTemplate keeps
crossplane/crossplane - internal/controller/pkg/revision
  crossplane-deploymentruntimeconfig pkg.crossplane.io/v1beta1 DeploymentRuntimeConfig
    spec.deploymentTemplate.spec.template keeps
Kong/kong-operator 0e3cf26f457d api/gateway-operator/v1beta1/dataplane_types.go
  kong-dataplane gateway-operator.konghq.com/v1beta1 DataPlane
    spec.deployment.podTemplateSpec unknown
nginx/nginx-gateway-fabric - internal/controller/provisioner/objects.go
  nginxproxy gateway.nginx.org/v1alpha2 NginxProxy nginxproxies
    spec.kubernetes.deployment.pod.topologySpreadConstraints keeps
    spec.kubernetes.daemonSet.pod.topologySpreadConstraints keeps
tigera/operator 10958d1eecef api/v1/typha_deployment_types.go
  calico-installation operator.tigera.io/v1 Installation
    spec.typhaDeployment.spec.template.spec.topologySpreadConstraints keeps
tigera/operator 00b4f64fd1a4 api/v1/apiserver_types.go
  calico-apiserver operator.tigera.io/v1 APIServer
    spec.apiServerDeployment.spec.template.spec.topologySpreadConstraints keeps
actions/actions-runner-controller - controllers/actions.summerwind.net/runner_controller.go
  actions-runner actions.summerwind.dev/v1alpha1 Runner
    spec.topologySpreadConstraints keeps
  actions-runnerdeployment actions.summerwind.dev/v1alpha1 RunnerDeployment
    spec.template.spec.topologySpreadConstraints keeps
cockroachdb/cockroach-operator - pkg/resource/statefulset.go
  cockroachdb-crdbcluster crdb.cockroachlabs.com/v1alpha1 CrdbCluster
    spec.topologySpreadConstraints keeps
DataDog/datadog-operator - internal/controller/datadogagent/override/podtemplatespec.go
  datadog-agent datadoghq.com/v2alpha1 DatadogAgent
    spec.override{*}.topologySpreadConstraints keeps
datainfrahq/druid-operator - controllers/druid/handler.go
  druid druid.apache.org/v1alpha1 Druid
    spec.nodes{*}.topologySpreadConstraints keeps
emqx/emqx-operator - controllers/apps/v2beta1/add_emqx_core.go
  emqx apps.emqx.io/v2beta1 EMQX emqxes
    spec.coreTemplate.spec.topologySpreadConstraints keeps
grafana/agent - pkg/operator/resources_pod_template.go
  grafana-agent monitoring.grafana.com/v1alpha1 GrafanaAgent
    spec.topologySpreadConstraints keeps
kube-logging/logging-operator - pkg/resources/fluentd/statefulset.go
  logging logging.banzaicloud.io/v1beta1 Logging
    spec.fluentd.topologySpreadConstraints keeps
kubernetes-sigs/lws - pkg/controllers
  leaderworkerset leaderworkerset.x-k8s.io/v1 LeaderWorkerSet
    spec.leaderWorkerTemplate.leaderTemplate keeps
    spec.leaderWorkerTemplate.workerTemplate keeps
openshift/cluster-image-registry-operator - pkg/resource/podtemplatespec.go
  openshift-imageregistry imageregistry.operator.openshift.io/v1 Config
    spec.topologySpreadConstraints keeps
pingcap/tidb-operator 25df93d95f4e pkg/apis/pingcap/v1alpha1/component_spec.go
  tidb-cluster pingcap.com/v1alpha1 TidbCluster
    spec.topologySpreadConstraints sets:labelSelector,maxSkew,whenUnsatisfiable
    spec.pd.topologySpreadConstraints sets:labelSelector,maxSkew,whenUnsatisfiable
    spec.tidb.topologySpreadConstraints sets:labelSelector,maxSkew,whenUnsatisfiable
    spec.tikv.topologySpreadConstraints sets:labelSelector,maxSkew,whenUnsatisfiable
    spec.tiflash.topologySpreadConstraints sets:labelSelector,maxSkew,whenUnsatisfiable
    spec.tiproxy.topologySpreadConstraints sets:labelSelector,maxSkew,whenUnsatisfiable
    spec.ticdc.topologySpreadConstraints sets:labelSelector,maxSkew,whenUnsatisfiable
    spec.pump.topologySpreadConstraints sets:labelSelector,maxSkew,whenUnsatisfiable
datreeio/CRDs-catalog 7b1e26ef9dee apps.emqx.io
  emqx apps.emqx.io/v2beta1 EMQX emqxes
    spec.replicantTemplate.spec.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee k8s.keycloak.org
  keycloak k8s.keycloak.org/v2alpha1,v2beta1 Keycloak
    spec.import.scheduling.topologySpreadConstraints unknown
    spec.update.scheduling.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee kafka.strimzi.io
  strimzi-kafka kafka.strimzi.io/v1beta2,v1 Kafka
    spec.jmxTrans.template.pod.topologySpreadConstraints unknown
  strimzi-kafkamirrormaker2 kafka.strimzi.io/v1beta2,v1 KafkaMirrorMaker2
    spec.template.buildPod.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee minio.min.io
  minio-tenant minio.min.io/v2 Tenant
    spec.kes.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee psmdb.percona.com
  percona-servermongodb psmdb.percona.com/v1 PerconaServerMongoDB
    spec.replsets[*].arbiter.topologySpreadConstraints unknown
    spec.sharding.configsvrReplSet.arbiter.topologySpreadConstraints unknown
    spec.sharding.configsvrReplSet.hidden.topologySpreadConstraints unknown
    spec.sharding.configsvrReplSet.nonvoting.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee serving.kserve.io
  kserve-inferenceservice serving.kserve.io/v1beta1 InferenceService
    spec.explainer.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee actions.summerwind.dev
  actions-runnerset actions.summerwind.dev/v1alpha1 RunnerSet
    spec.template unknown
datreeio/CRDs-catalog 7b1e26ef9dee app.redislabs.com
  redis-enterprisecluster app.redislabs.com/v1,v1alpha1 RedisEnterpriseCluster
    spec.redisEnterpriseAdditionalPodSpecAttributes.topologySpreadConstraints unknown
    spec.servicesRiggerSpec.servicesRiggerAdditionalPodSpecAttributes.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee argoproj.io
  argo-analysistemplate argoproj.io/v1alpha1 AnalysisTemplate
    spec.metrics[*].provider.job.spec.template unknown
  argo-clusteranalysistemplate argoproj.io/v1alpha1 ClusterAnalysisTemplate
    spec.metrics[*].provider.job.spec.template unknown
  argo-experiment argoproj.io/v1alpha1 Experiment
    spec.templates[*].template unknown
datreeio/CRDs-catalog 7b1e26ef9dee capi.weave.works
  weave-clusterbootstrapconfig capi.weave.works/v1alpha1 ClusterBootstrapConfig
    spec.jobTemplate.spec.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee ceph.rook.io
  rook-cephcosidriver ceph.rook.io/v1 CephCOSIDriver
    spec.placement.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee clickhouse.com
  clickhouse-cluster clickhouse.com/v1alpha1 ClickHouseCluster
    spec.podTemplate.topologySpreadConstraints unknown
  clickhouse-keepercluster clickhouse.com/v1alpha1 KeeperCluster
    spec.podTemplate.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee cluster.redpanda.com
  redpanda cluster.redpanda.com/v1alpha1,v1alpha2 Redpanda
    spec.clusterSpec.console.topologySpreadConstraints unknown
    spec.clusterSpec.post_install_job.podTemplate.spec.topologySpreadConstraints unknown
    spec.clusterSpec.post_upgrade_job.podTemplate.spec.topologySpreadConstraints unknown
    spec.clusterSpec.statefulset.podTemplate.spec.topologySpreadConstraints unknown
    spec.clusterSpec.statefulset.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee controlplane.cluster.x-k8s.io
  k0smotron-controlplane controlplane.cluster.x-k8s.io/v1beta1 K0smotronControlPlane
    spec.topologySpreadConstraints unknown
  k0smotron-controlplanetemplate controlplane.cluster.x-k8s.io/v1beta1 K0smotronControlPlaneTemplate
    spec.template.spec.topologySpreadConstraints unknown
  kamaji-controlplane controlplane.cluster.x-k8s.io/v1alpha1 KamajiControlPlane
    spec.deployment.topologySpreadConstraints unknown
  kamaji-controlplanetemplate controlplane.cluster.x-k8s.io/v1alpha1 KamajiControlPlaneTemplate
    spec.template.spec.deployment.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee datadoghq.com
  datadog-agentprofile datadoghq.com/v1alpha1 DatadogAgentProfile
    spec.config.override{*}.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee db.atlasgo.io
  atlas-migration db.atlasgo.io/v1alpha1 AtlasMigration
    spec.devDB.spec.topologySpreadConstraints unknown
  atlas-schema db.atlasgo.io/v1alpha1 AtlasSchema
    spec.devDB.spec.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee dynatrace.com
  dynatrace-dynakube dynatrace.com/v1beta1,v1beta2,v1beta3,v1beta4,v1beta5 DynaKube
    spec.activeGate.topologySpreadConstraints unknown
    spec.kubernetesMonitoring.topologySpreadConstraints unknown
    spec.routing.topologySpreadConstraints unknown
    spec.templates.extensionExecutionController.topologySpreadConstraints unknown
    spec.templates.otelCollector.topologySpreadConstraints unknown
  dynatrace-edgeconnect dynatrace.com/v1alpha1,v1alpha2 EdgeConnect
    spec.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee gateway.kgateway.dev
  kgateway-parameters gateway.kgateway.dev/v1alpha1 GatewayParameters gatewayparameters
    spec.kube.podTemplate.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee gravitee.io
  gravitee-gatewayclassparameters gravitee.io/v1alpha1 GatewayClassParameters gatewayclassparameters
    spec.kubernetes.deployment.template unknown
datreeio/CRDs-catalog 7b1e26ef9dee hivemq.com
  hivemq-cluster hivemq.com/v1 HiveMQCluster hivemq-clusters
    spec.topologySpreadConstraints unknown
  hivemq-platform hivemq.com/v1 HiveMQPlatform hivemq-platforms
    spec.statefulSet.spec.template unknown
datreeio/CRDs-catalog 7b1e26ef9dee k0smotron.io
  k0smotron-cluster k0smotron.io/v1beta1 Cluster
    spec.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee k6.io
  k6-privateloadzone k6.io/v1alpha1 PrivateLoadZone
    spec.podTemplate unknown
  k6-testrun k6.io/v1alpha1 TestRun
    spec.initializer.topologySpreadConstraints unknown
    spec.runner.topologySpreadConstraints unknown
    spec.starter.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee k8up.io
  k8up-podconfig k8up.io/v1 PodConfig
    spec.template unknown
  k8up-prebackuppod k8up.io/v1 PreBackupPod
    spec.pod unknown
datreeio/CRDs-catalog 7b1e26ef9dee kubevirt.io
  kubevirt-virtualmachineinstancereplicaset kubevirt.io/v1,v1alpha3 VirtualMachineInstanceReplicaSet
    spec.template.spec.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee logging.banzaicloud.io
  logging logging.banzaicloud.io/v1beta1 Logging
    spec.nodeAgents[*].nodeAgentFluentbit.daemonSet.spec.template unknown
    spec.syslogNG.configCheckPod.topologySpreadConstraints unknown
    spec.syslogNG.statefulSet.spec.template unknown
  logging-fluentdconfig logging.banzaicloud.io/v1beta1 FluentdConfig
    spec.topologySpreadConstraints unknown
  logging-nodeagent logging.banzaicloud.io/v1beta1 NodeAgent
    spec.nodeAgentFluentbit.daemonSet.spec.template unknown
  logging-syslogngconfig logging.banzaicloud.io/v1beta1 SyslogNGConfig
    spec.configCheckPod.topologySpreadConstraints unknown
    spec.statefulSet.spec.template unknown
datreeio/CRDs-catalog 7b1e26ef9dee opentelemetry.io
  opentelemetry-opampbridge opentelemetry.io/v1alpha1 OpAMPBridge
    spec.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee operators.coreos.com
  olm-clusterserviceversion operators.coreos.com/v1alpha1 ClusterServiceVersion
    spec.install.spec.deployments[*].spec.template unknown
datreeio/CRDs-catalog 7b1e26ef9dee pg.percona.com
  percona-pgcluster-v2beta1 pg.percona.com/v2beta1 PerconaPGCluster
    spec.backups.pgbackrest.repoHost.topologySpreadConstraints unknown
    spec.instances[*].topologySpreadConstraints unknown
    spec.proxy.pgBouncer.topologySpreadConstraints unknown
  percona-postgrescluster pg.percona.com/v1beta1 PostgresCluster
    spec.backups.pgbackrest.repoHost.topologySpreadConstraints unknown
    spec.instances[*].topologySpreadConstraints unknown
    spec.proxy.pgBouncer.topologySpreadConstraints unknown
    spec.userInterface.pgAdmin.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee pingcap.com
  tidb-cluster pingcap.com/v1alpha1 TidbCluster
    spec.discovery.topologySpreadConstraints unknown
    spec.pdms[*].topologySpreadConstraints unknown
  tidb-dmcluster pingcap.com/v1alpha1 DMCluster
    spec.discovery.topologySpreadConstraints unknown
    spec.master.topologySpreadConstraints unknown
    spec.topologySpreadConstraints unknown
    spec.worker.topologySpreadConstraints unknown
  tidb-dashboard pingcap.com/v1alpha1 TidbDashboard
    spec.topologySpreadConstraints unknown
  tidb-ngmonitoring pingcap.com/v1alpha1 TidbNGMonitoring
    spec.ngMonitoring.topologySpreadConstraints unknown
    spec.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee platform.confluent.io
  confluent-connect platform.confluent.io/v1beta1 Connect
    spec.podTemplate.topologySpreadConstraints unknown
  confluent-controlcenter platform.confluent.io/v1beta1 ControlCenter
    spec.podTemplate.topologySpreadConstraints unknown
  confluent-gateway platform.confluent.io/v1beta1 Gateway
    spec.podTemplate.topologySpreadConstraints unknown
  confluent-kafkarestproxy platform.confluent.io/v1beta1 KafkaRestProxy kafkarestproxies
    spec.podTemplate.topologySpreadConstraints unknown
  confluent-kraftcontroller platform.confluent.io/v1beta1 KRaftController
    spec.podTemplate.topologySpreadConstraints unknown
  confluent-ksqldb platform.confluent.io/v1beta1 KsqlDB
    spec.podTemplate.topologySpreadConstraints unknown
  confluent-schemaregistry platform.confluent.io/v1beta1 SchemaRegistry schemaregistries
    spec.podTemplate.topologySpreadConstraints unknown
  confluent-usmagent platform.confluent.io/v1beta1 USMAgent
    spec.podTemplate.topologySpreadConstraints unknown
  confluent-flinkdeployment platform.confluent.io/v1beta1 FlinkDeployment
    spec.podTemplate unknown
    spec.jobManager.podTemplate unknown
    spec.taskManager.podTemplate unknown
  confluent-flinkbluegreendeployment platform.confluent.io/v1beta1 FlinkBlueGreenDeployment
    spec.template.spec.podTemplate unknown
    spec.template.spec.jobManager.podTemplate unknown
    spec.template.spec.taskManager.podTemplate unknown
datreeio/CRDs-catalog 7b1e26ef9dee renovate-operator.mogenius.com
  renovate-job renovate-operator.mogenius.com/v1alpha1 RenovateJob
    spec.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee stunner.l7mp.io
  stunner-dataplane stunner.l7mp.io/v1 Dataplane
    spec.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee tailscale.com
  tailscale-proxyclass tailscale.com/v1alpha1 ProxyClass proxyclasses
    spec.statefulSet.pod.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee temporal.io
  temporal-temporalworkerdeployment temporal.io/v1alpha1 TemporalWorkerDeployment
    spec.template unknown
  temporal-workerdeployment temporal.io/v1alpha1 WorkerDeployment
    spec.template unknown
datreeio/CRDs-catalog 7b1e26ef9dee testworkflows.testkube.io
  testkube-testworkflow testworkflows.testkube.io/v1 TestWorkflow
    spec.after[*].services{*}.pod.topologySpreadConstraints unknown
    spec.pod.topologySpreadConstraints unknown
    spec.services{*}.pod.topologySpreadConstraints unknown
    spec.setup[*].services{*}.pod.topologySpreadConstraints unknown
    spec.steps[*].services{*}.pod.topologySpreadConstraints unknown
  testkube-testworkflowtemplate testworkflows.testkube.io/v1 TestWorkflowTemplate
    spec.after[*].services{*}.pod.topologySpreadConstraints unknown
    spec.pod.topologySpreadConstraints unknown
    spec.services{*}.pod.topologySpreadConstraints unknown
    spec.setup[*].services{*}.pod.topologySpreadConstraints unknown
    spec.steps[*].services{*}.pod.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee valkey.io
  valkey-cluster valkey.io/v1alpha1 ValkeyCluster
    spec.scheduling.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee vault.banzaicloud.com
  bank-vaults-vault vault.banzaicloud.com/v1alpha1 Vault
    spec.vaultConfigurerPodSpec.topologySpreadConstraints unknown
    spec.vaultPodSpec.topologySpreadConstraints unknown
datreeio/CRDs-catalog 7b1e26ef9dee v4.15-strict
  openshift-deploymentconfig apps.openshift.io/v1 DeploymentConfig
    spec.template unknown
pingcap/tidb-operator 42684baa3d1c manifests/crd
  tidb-pdgroup core.pingcap.com/v1alpha1 PDGroup
    spec.template.spec.overlay.pod.spec.topologySpreadConstraints unknown
  tidb-tsogroup core.pingcap.com/v1alpha1 TSOGroup
    spec.template.spec.overlay.pod.spec.topologySpreadConstraints unknown
  tidb-schedulergroup core.pingcap.com/v1alpha1 SchedulerGroup
    spec.template.spec.overlay.pod.spec.topologySpreadConstraints unknown
  tidb-schedulinggroup core.pingcap.com/v1alpha1 SchedulingGroup
    spec.template.spec.overlay.pod.spec.topologySpreadConstraints unknown
  tidb-resourcemanagergroup core.pingcap.com/v1alpha1 ResourceManagerGroup
    spec.template.spec.overlay.pod.spec.topologySpreadConstraints unknown
  tidb-routergroup core.pingcap.com/v1alpha1 RouterGroup
    spec.template.spec.overlay.pod.spec.topologySpreadConstraints unknown
  tidb-tidbgroup core.pingcap.com/v1alpha1 TiDBGroup
    spec.template.spec.overlay.pod.spec.topologySpreadConstraints unknown
  tidb-tikvgroup core.pingcap.com/v1alpha1 TiKVGroup
    spec.template.spec.overlay.pod.spec.topologySpreadConstraints unknown
  tidb-tikvworkergroup core.pingcap.com/v1alpha1 TiKVWorkerGroup
    spec.template.spec.overlay.pod.spec.topologySpreadConstraints unknown
  tidb-tiflashgroup core.pingcap.com/v1alpha1 TiFlashGroup
    spec.template.spec.overlay.pod.spec.topologySpreadConstraints unknown
  tidb-ticdcgroup core.pingcap.com/v1alpha1 TiCDCGroup
    spec.template.spec.overlay.pod.spec.topologySpreadConstraints unknown
  tidb-tiproxygroup core.pingcap.com/v1alpha1 TiProxyGroup
    spec.template.spec.overlay.pod.spec.topologySpreadConstraints unknown
  tidb-dmgroup core.pingcap.com/v1alpha1 DMGroup
    spec.template.spec.overlay.pod.spec.topologySpreadConstraints unknown
  tidb-dmworkergroup core.pingcap.com/v1alpha1 DMWorkerGroup
    spec.template.spec.overlay.pod.spec.topologySpreadConstraints unknown
  tidb-br br.pingcap.com/v1alpha1 TiBR
    spec.overlay.pod.spec.topologySpreadConstraints unknown
  tidb-brgc br.pingcap.com/v1alpha1 TiBRGC
    spec.overlay.pods[*].overlay.pod.spec.topologySpreadConstraints unknown
cybozu-go/moco cdfed8a97a9c config/crd/bases/moco.cybozu.com_mysqlclusters.yaml
  moco-mysqlcluster moco.cybozu.com/v1alpha1,v1beta2 MySQLCluster
    spec.podTemplate.spec.topologySpreadConstraints unknown
tektoncd/operator 390143289a66 pkg/reconciler/common/transformer_additional_options.go
  tektonconfig operator.tekton.dev/v1alpha1 TektonConfig
    spec.pipeline.options.statefulSets{*}.spec.template keeps
    spec.chain.options.deployments{*}.spec.template keeps
    spec.chain.options.statefulSets{*}.spec.template keeps
    spec.dashboard.options.deployments{*}.spec.template keeps
    spec.dashboard.options.statefulSets{*}.spec.template keeps
    spec.scheduler.options.deployments{*}.spec.template keeps
    spec.scheduler.options.statefulSets{*}.spec.template keeps
    spec.tektonpruner.options.deployments{*}.spec.template keeps
    spec.tektonpruner.options.statefulSets{*}.spec.template keeps
    spec.multiclusterProxyAAE.options.deployments{*}.spec.template keeps
    spec.multiclusterProxyAAE.options.statefulSets{*}.spec.template keeps
    spec.hub.options.statefulSets{*}.spec.template keeps
    spec.platforms.openshift.pipelinesAsCode.options.deployments{*}.spec.template keeps
    spec.platforms.openshift.pipelinesAsCode.options.statefulSets{*}.spec.template keeps
  tektonpipeline operator.tekton.dev/v1alpha1 TektonPipeline
    spec.options.deployments{*}.spec.template keeps
    spec.options.statefulSets{*}.spec.template keeps
  tektonchain operator.tekton.dev/v1alpha1 TektonChain
    spec.options.deployments{*}.spec.template keeps
    spec.options.statefulSets{*}.spec.template keeps
  tektondashboard operator.tekton.dev/v1alpha1 TektonDashboard
    spec.options.deployments{*}.spec.template keeps
    spec.options.statefulSets{*}.spec.template keeps
  tektonscheduler operator.tekton.dev/v1alpha1 TektonScheduler
    spec.options.deployments{*}.spec.template keeps
    spec.options.statefulSets{*}.spec.template keeps
  tektonpruner operator.tekton.dev/v1alpha1 TektonPruner
    spec.options.deployments{*}.spec.template keeps
    spec.options.statefulSets{*}.spec.template keeps
  tektonmulticlusterproxyaae operator.tekton.dev/v1alpha1 TektonMulticlusterProxyAAE
    spec.options.deployments{*}.spec.template keeps
    spec.options.statefulSets{*}.spec.template keeps
  tekton-pipelinesascode operator.tekton.dev/v1alpha1 OpenShiftPipelinesAsCode
    spec.options.deployments{*}.spec.template keeps
    spec.options.statefulSets{*}.spec.template keeps
VictoriaMetrics/operator d0d258c86b5a api/operator
  victoriametrics-vlogs operator.victoriametrics.com/v1beta1 VLogs vlogs
    spec.topologySpreadConstraints unknown
  victoriametrics-vldistributed operator.victoriametrics.com/v1alpha1 VLDistributed vldistributed
    spec.vmauth.spec.topologySpreadConstraints unknown
    spec.zoneCommon.vlagent.spec.topologySpreadConstraints unknown
    spec.zones[*].vlagent.spec.topologySpreadConstraints unknown
  victoriametrics-vmdistributed operator.victoriametrics.com/v1alpha1 VMDistributed vmdistributed
    spec.vmauth.spec.topologySpreadConstraints unknown
    spec.zoneCommon.vmagent.spec.topologySpreadConstraints unknown
    spec.zones[*].vmagent.spec.topologySpreadConstraints unknown
kubeflow/manifests - .
  kubeflow-jaxjob kubeflow.org/v1 JAXJob
    spec.jaxReplicaSpecs{*}.template unknown
  kubeflow-paddlejob kubeflow.org/v1 PaddleJob
    spec.paddleReplicaSpecs{*}.template unknown
  kubeflow-pvcviewer kubeflow.org/v1alpha1 PVCViewer
    spec.podSpec.topologySpreadConstraints unknown
  kubeflow-trainingruntime kubeflow.org/v2alpha1 TrainingRuntime
    spec.template.spec.replicatedJobs[*].template.spec.template unknown
  kubeflow-clustertrainingruntime kubeflow.org/v2alpha1 ClusterTrainingRuntime
    spec.template.spec.replicatedJobs[*].template.spec.template unknown
  kubeflow-trainer-trainingruntime trainer.kubeflow.org/v1alpha1 TrainingRuntime
    spec.template.spec.replicatedJobs[*].template.spec.template unknown
  kubeflow-trainer-clustertrainingruntime trainer.kubeflow.org/v1alpha1 ClusterTrainingRuntime
    spec.template.spec.replicatedJobs[*].template.spec.template unknown
  kserve-llminferenceservice serving.kserve.io/v1alpha1,v1alpha2 LLMInferenceService
    spec.template.topologySpreadConstraints unknown
    spec.worker.topologySpreadConstraints unknown
    spec.prefill.template.topologySpreadConstraints unknown
    spec.prefill.worker.topologySpreadConstraints unknown
    spec.router.scheduler.template.topologySpreadConstraints unknown
    spec.router.scheduler.tokenizer.template.topologySpreadConstraints unknown
  kserve-llminferenceserviceconfig serving.kserve.io/v1alpha1,v1alpha2 LLMInferenceServiceConfig
    spec.template.topologySpreadConstraints unknown
    spec.worker.topologySpreadConstraints unknown
    spec.prefill.template.topologySpreadConstraints unknown
    spec.prefill.worker.topologySpreadConstraints unknown
    spec.router.scheduler.template.topologySpreadConstraints unknown
    spec.router.scheduler.tokenizer.template.topologySpreadConstraints unknown
operate-first/apps - .
  kubeflow-mxjob kubeflow.org/v1 MXJob
    spec.mxReplicaSpecs{*}.template unknown
kserve/kserve - .
  kubeflow-inferenceservice serving.kubeflow.org/v1beta1 InferenceService
    spec.predictor.topologySpreadConstraints unknown
    spec.transformer.topologySpreadConstraints unknown
    spec.explainer.topologySpreadConstraints unknown
elastic/cloud-on-k8s - .
  elastic-autoopsagentpolicy autoops.k8s.elastic.co/v1alpha1 AutoOpsAgentPolicy autoopsagentpolicies
    spec.podTemplate unknown
  elastic-packageregistry packageregistry.k8s.elastic.co/v1alpha1 PackageRegistry packageregistries
    spec.podTemplate unknown
sapcc/helm-charts - .
  thanos monitoring.banzaicloud.io/v1alpha1 Thanos thanos
    spec.query.deploymentOverrides.spec.template.spec.topologySpreadConstraints unknown
    spec.queryFrontend.deploymentOverrides.spec.template.spec.topologySpreadConstraints unknown
    spec.storeGateway.deploymentOverrides.spec.template.spec.topologySpreadConstraints unknown
    spec.rule.statefulsetOverrides.spec.template.spec.topologySpreadConstraints unknown
  thanos-objectstore monitoring.banzaicloud.io/v1alpha1 ObjectStore
    spec.bucketWeb.deploymentOverrides.spec.template.spec.topologySpreadConstraints unknown
    spec.compactor.deploymentOverrides.spec.template.spec.topologySpreadConstraints unknown
  thanos-receiver monitoring.banzaicloud.io/v1alpha1 Receiver
    spec.receiverGroups[*].statefulSetOverrides.spec.template.spec.topologySpreadConstraints unknown
  thanos-endpoint monitoring.banzaicloud.io/v1alpha1 ThanosEndpoint
    spec.queryOverrides.deploymentOverrides.spec.template.spec.topologySpreadConstraints unknown
  thanos-peer monitoring.banzaicloud.io/v1alpha1 ThanosPeer
    spec.queryOverrides.deploymentOverrides.spec.template.spec.topologySpreadConstraints unknown
stevehipwell/helm-charts - .
  calico-gatewayapi operator.tigera.io/v1 GatewayAPI
    spec.gatewayControllerDeployment.spec.template.spec.topologySpreadConstraints unknown
    spec.gatewayClasses[*].gatewayDeployment.spec.template.spec.topologySpreadConstraints unknown
    spec.gatewayClasses[*].gatewayDaemonSet.spec.template.spec.topologySpreadConstraints unknown
  calico-goldmane operator.tigera.io/v1 Goldmane
    spec.goldmaneDeployment.spec.template.spec.topologySpreadConstraints unknown
  calico-whisker operator.tigera.io/v1 Whisker
    spec.whiskerDeployment.spec.template.spec.topologySpreadConstraints unknown
Kong/charts - .
  kong-controlplane gateway-operator.konghq.com/v1beta1 ControlPlane
    spec.deployment.podTemplateSpec unknown
  kong-gatewayconfiguration gateway-operator.konghq.com/v1beta1 GatewayConfiguration
    spec.controlPlaneOptions.deployment.podTemplateSpec unknown
    spec.dataPlaneOptions.deployment.podTemplateSpec unknown
zalando-incubator/kubernetes-on-aws - .
  zalando-stack zalando.org/v1 Stack
    spec.podTemplate unknown
  zalando-stackset zalando.org/v1 StackSet
    spec.stackTemplate.spec.podTemplate unknown
wikimedia/operations-deployment-charts - .
  flink-bluegreendeployment flink.apache.org/v1beta1 FlinkBlueGreenDeployment
    spec.template.spec.podTemplate unknown
    spec.template.spec.jobManager.podTemplate unknown
    spec.template.spec.taskManager.podTemplate unknown
apache/solr-operator - .
  zookeeper-cluster zookeeper.pravega.io/v1beta1 ZookeeperCluster
    spec.pod.topologySpreadConstraints unknown
konflux-ci/konflux-ci - .
  konflux-releaseplan appstudio.redhat.com/v1alpha1 ReleasePlan
    spec.finalPipeline.taskRunSpecs[*].podTemplate.topologySpreadConstraints unknown
    spec.tenantPipeline.taskRunSpecs[*].podTemplate.topologySpreadConstraints unknown
  konflux-releaseplanadmission appstudio.redhat.com/v1alpha1 ReleasePlanAdmission
    spec.pipeline.taskRunSpecs[*].podTemplate.topologySpreadConstraints unknown
jomcgi/homelab - .
  agents-sandbox agents.x-k8s.io/v1alpha1,v1beta1 Sandbox sandboxes
    spec.podTemplate.spec.topologySpreadConstraints unknown
  agents-sandboxtemplate extensions.agents.x-k8s.io/v1alpha1 SandboxTemplate
    spec.podTemplate.spec.topologySpreadConstraints unknown
ArthurVardevanyan/HomeLab - .
  rook-cephnvmeofgateway ceph.rook.io/v1 CephNVMeOFGateway
    spec.placement.topologySpreadConstraints unknown
vshn/component-appcat - .
  garage-cluster garage.rajsingh.info/v1alpha1 GarageCluster
    spec.topologySpreadConstraints unknown
DataDog/helm-charts - .
  datadog-extendeddaemonset datadoghq.com/v1alpha1 ExtendedDaemonSet
    spec.template unknown
hashicorp/consul-k8s - .
  consul-terminatinggateway consul.hashicorp.com/v1alpha1 TerminatingGateway
    spec.deployment.topologySpreadConstraints unknown
"""

LABELS_GIVEN = """\
strimzi.io/cluster strimzi-kafka strimzi-kafkaconnect strimzi-kafkabridge
strimzi.io/cluster strimzi-kafkamirrormaker strimzi-kafkamirrormaker2
strimzi.io/pool-name strimzi-kafkanodepool
app? confluent-kafka confluent-kraftcontroller confluent-zookeeper confluent-connect confluent-schemaregistry
app? confluent-controlcenter confluent-gateway
app.kubernetes.io/instance victoriametrics-vmcluster victoriametrics-vmagent victoriametrics-vmalert
app.kubernetes.io/instance victoriametrics-vmalertmanager victoriametrics-vmauth victoriametrics-vmsingle
app.kubernetes.io/instance victoriametrics-vlcluster victoriametrics-vlagent victoriametrics-vlsingle
app.kubernetes.io/instance victoriametrics-vtcluster victoriametrics-vtsingle victoriametrics-vmanomaly
app.kubernetes.io/instance victoriametrics-vlogs
cnpg.io/cluster? cnpg-cluster
app dragonfly
redisfailovers.databases.spotahome.com/name? redisfailover
app.kubernetes.io/name redisfailover
app.kubernetes.io/instance? cockroachdb-crdbcluster
app.kubernetes.io/component?=database cockroachdb-crdbcluster
"""
