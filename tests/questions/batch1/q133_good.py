import torch
import torch.nn as nn
import torch.nn.functional as F


class USAM(nn.Module):
    def __init__(self, kernel_size=3, polish=True):
        super().__init__()
        kernel = torch.ones(1, 1, kernel_size, kernel_size)
        kernel[0, 0, 1, 1] = 1 - kernel_size**2
        self.register_buffer("weight", kernel)
        self.conv = nn.Conv2d(2, 1, kernel_size, padding=1)
        self.polish = polish

    def forward(self, x):
        x1 = F.conv2d(x.mean(1, keepdim=True), self.weight, padding=1)
        x2 = F.conv2d(x.amax(1, keepdim=True), self.weight, padding=1)
        att = F.relu(self.conv(torch.cat([x1, x2], dim=1)))
        if self.polish:
            att = att.clone()
            att[:, :, :, 0] = 0
            att[:, :, :, -1] = 0
            att[:, :, 0, :] = 0
            att[:, :, -1, :] = 0
        return x + att * x


class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.attention = USAM()
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        x = self.attention(F.relu(self.conv1(x)))
        return self.fc(F.relu(self.conv2(x)).amax(dim=(2, 3)))


def views(n):
    label = torch.randint(0, 4, (n,))
    image = 0.5 * torch.randn(n, 1, 16, 16)
    for i, c in enumerate(label.tolist()):
        image[i, 0, 4 + 2 * (c // 2) : 10, 4 + 2 * (c % 2) : 10] += 1.5
    return image, label


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(100):
    image, label = views(32)
    loss = F.cross_entropy(net(image), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}")
