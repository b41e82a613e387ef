import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)


class BNInception(nn.Module):
    def __init__(self, num_classes=2):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv1_bn = nn.BatchNorm2d(8)
        self.relu_conv1 = nn.ReLU()
        self.inception_1x1 = nn.Conv2d(8, 8, 1)
        self.inception_1x1_bn = nn.BatchNorm2d(8)
        self.inception_relu_1x1 = nn.ReLU()
        self.inception_3x3 = nn.Conv2d(8, 8, 3, padding=1)
        self.inception_3x3_bn = nn.BatchNorm2d(8)
        self.inception_relu_3x3 = nn.ReLU()
        self.last_linear = nn.Linear(16, num_classes)

    def features(self, inp):
        conv1_out = self.conv1(inp)
        conv1_bn_out = self.conv1_bn(conv1_out)
        relu_conv1_out = self.relu_conv1(conv1_bn_out)
        inception_1x1_out = self.inception_1x1(conv1_bn_out)
        inception_1x1_bn_out = self.inception_1x1_bn(inception_1x1_out)
        inception_relu_1x1_out = self.inception_relu_1x1(inception_1x1_bn_out)
        inception_3x3_out = self.inception_3x3(conv1_bn_out)
        inception_3x3_bn_out = self.inception_3x3_bn(inception_3x3_out)
        inception_relu_3x3_out = self.inception_relu_3x3(inception_3x3_bn_out)
        return torch.cat([inception_1x1_bn_out, inception_3x3_bn_out], 1)

    def forward(self, inp):
        x = F.adaptive_avg_pool2d(self.features(inp), 1)
        return self.last_linear(x.flatten(1))


def textures(n):
    label = torch.randint(0, 2, (n,))
    noise = torch.randn(n, 1, 12, 12)
    smooth = F.avg_pool2d(F.pad(noise, (1, 1, 1, 1), mode="circular"), 3, stride=1) * 3
    x = torch.where(label.view(-1, 1, 1, 1) == 1, smooth, noise)
    return x, label


x_train, y_train = textures(600)
x_test, y_test = textures(400)
model = BNInception()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(8):
    model.train()
    total = 0.0
    for idx in torch.randperm(600).split(30):
        loss = F.cross_entropy(model(x_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch} loss {total / 20:.4f} test acc {acc:.3f}")
