import torch
import torch.nn as nn
import torch.nn.functional as F


class RoundSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad


class Conv2dQ(nn.Conv2d):
    def __init__(self, *args, nbits_w=4, **kwargs):
        super().__init__(*args, **kwargs)
        self.levels = 2 ** (nbits_w - 1) - 1

    def forward(self, x):
        scale = self.weight.detach().abs().max() / self.levels
        w_q = RoundSTE.apply(self.weight / scale) * scale
        return F.conv2d(x, w_q, self.bias, self.stride, self.padding)


def replace_conv_recursively(module, nbits_w):
    for name, child in module.named_children():
        if type(child) is nn.Conv2d:
            new = Conv2dQ(
                child.in_channels,
                child.out_channels,
                child.kernel_size,
                stride=child.stride,
                padding=child.padding,
                nbits_w=nbits_w,
            )
            new.load_state_dict(child.state_dict())
            setattr(module, name, new)
        else:
            replace_conv_recursively(child, nbits_w)


class SmallNet(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.fc = nn.Linear(16, num_classes)

    def forward(self, x):
        return self.fc(self.features(x).mean(dim=(2, 3)))


def stripes(n, size=12):
    y = torch.randint(0, 4, (n,))
    t = torch.arange(size).float()
    phase = 6.28 * torch.rand(n, 1, 1)
    waves = torch.stack(
        [
            torch.sin(2.1 * t[None, :, None] + phase).expand(n, size, size),
            torch.sin(2.1 * t[None, None, :] + phase).expand(n, size, size),
            torch.sin(1.5 * (t[:, None] + t[None, :])[None] + phase),
            torch.sin(1.5 * (t[:, None] - t[None, :])[None] + phase),
        ],
        dim=1,
    )
    x = waves[torch.arange(n), y]
    return x.unsqueeze(1) + 0.3 * torch.randn(n, 1, size, size), y


def get_optimizer(model, lr):
    return torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=1e-4)


def main(epochs=5, batch_num=30):
    torch.manual_seed(3)
    model = SmallNet()
    criterion = nn.CrossEntropyLoss()
    replace_conv_recursively(model, nbits_w=4)
    optimizer = get_optimizer(model, lr=0.05)
    for epoch in range(epochs):
        hits = total = 0.0
        for _ in range(batch_num):
            images, target = stripes(64)
            output = model(images)
            loss = criterion(output, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hits += (output.argmax(1) == target).float().mean().item()
            total += loss.item()
        print(f"Epoch [{epoch}]  Loss {total / batch_num:.4f}  Acc@1 {100 * hits / batch_num:.1f}")


main()
