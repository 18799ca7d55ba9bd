// Puts a soft RDMA device (rxe) under the PCI device of its network interface, where a real HCA is, so that
// /sys/class/infiniband/X/device and its numa_node exist: insmod ibparent.ko netdev=eth0
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

static char *netdev;
module_param(netdev, charp, 0);

static struct device *pci_above(struct net_device *net)
{
	struct device *up = net->dev.parent;

	while (up && !dev_is_pci(up))
		up = up->parent;
	return up;
}

static int __init ibparent_init(void)
{
	struct net_device *net = dev_get_by_name(&init_net, netdev);
	struct ib_device *ib;
	int status = -ENODEV;

	if (!net)
		return status;
	ib = ib_device_get_by_netdev(net, RDMA_DRIVER_UNKNOWN);
	if (ib && pci_above(net))
		status = device_move(&ib->dev, pci_above(net), DPM_ORDER_NONE);
	if (ib)
		ib_device_put(ib);
	dev_put(net);
	return status;
}

static void __exit ibparent_exit(void)
{
}

module_init(ibparent_init);
module_exit(ibparent_exit);
MODULE_DESCRIPTION("Moves a soft RDMA device under the PCI device of its network interface");
MODULE_LICENSE("GPL");
