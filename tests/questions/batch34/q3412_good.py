import argparse

import torch
import torch.nn as nn

torch.manual_seed(0)


class ConvNet(nn.Module):
    def __init__(self, channel, classes):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(channel, 12, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(12 * 16, classes)
        )

    def forward(self, x):
        return self.net(x)


def match_loss(gw_syn, gw_real):
    return sum((1 - torch.cosine_similarity(a.flatten(), b.flatten(), dim=0)) for a, b in zip(gw_syn, gw_real))


def distill(args, real, labels, num_classes, channel, im_size):
    image_syn = torch.randn(size=(num_classes * args.ipc, channel, im_size[0], im_size[1]), dtype=torch.float) * 0.01
    image_syn.requires_grad_()
    label_syn = torch.arange(num_classes).repeat_interleave(args.ipc)
    optimizer_img = torch.optim.SGD([image_syn], lr=args.lr_img, momentum=0.5)
    criterion = nn.CrossEntropyLoss()
    for it in range(args.iterations):
        net = ConvNet(channel, num_classes)
        params = list(net.parameters())
        gw_real = torch.autograd.grad(criterion(net(real), labels), params)
        gw_syn = torch.autograd.grad(criterion(net(image_syn), label_syn), params, create_graph=True)
        loss = match_loss(gw_syn, [g.detach() for g in gw_real])
        optimizer_img.zero_grad()
        loss.backward()
        optimizer_img.step()
        if it % 20 == 19:
            print(it, "matching loss", round(loss.item(), 3))
    return image_syn.detach()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ipc", type=int, default=2)
    parser.add_argument("--lr-img", type=float, default=2.0)
    parser.add_argument("--iterations", type=int, default=60)
    args = parser.parse_args([])
    patterns = torch.randn(4, 1, 8, 8)
    labels = torch.arange(128) % 4
    real = patterns[labels] + 0.5 * torch.randn(128, 1, 8, 8)
    image_syn = distill(args, real, labels, 4, 1, (8, 8))
    print("synthetic images", tuple(image_syn.shape), "std", round(image_syn.std().item(), 3))


main()
