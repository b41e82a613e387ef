import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)


class DoubleAttention(nn.Module):
    def __init__(self, in_c=16, c_m=16, c_n=8):
        super().__init__()
        self.c_m, self.c_n = c_m, c_n
        self.convA = nn.Conv2d(in_c, c_m, 1)
        self.convB = nn.Conv2d(in_c, c_n, 1)
        self.convV = nn.Conv2d(in_c, c_n, 1)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        b, _, h, w = x.shape
        A = self.convA(x).view(b, self.c_m, h * w)
        tmpB = self.convB(x).view(b, self.c_n, h * w)
        tmpV = self.convV(x).view(b, self.c_n, h * w)
        attention_maps = self.softmax(tmpB)
        gathered = torch.bmm(A, attention_maps.permute(0, 2, 1))
        vectors = F.softmax(tmpV, dim=1)
        z = torch.bmm(gathered, vectors).view(b, self.c_m, h, w)
        return z, attention_maps


class Net(nn.Module):
    def __init__(self, n_classes=6):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(4, 16, 1), nn.ReLU())
        self.attn = DoubleAttention()
        self.fc = nn.Linear(16, n_classes)

    def forward(self, x):
        z, maps = self.attn(self.stem(x))
        return self.fc(z.mean((2, 3))), maps


def make_images(n, size):
    x = torch.randn(n, 4, size, size) * 0.5
    y = torch.randint(0, 6, (n,))
    for i in range(n):
        r, c = torch.randint(0, size, (2,)).tolist()
        x[i, 0, r, c] = 4.0
        x[i, 1, r, c] = (y[i] % 3 - 1) * 2.0
        x[i, 2, r, c] = (y[i] // 3) * 4.0 - 2.0
    return x, y


train_x, train_y = make_images(384, 6)
val_x, val_y = make_images(192, 6)
big_x, big_y = make_images(192, 14)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(20):
    model.train()
    for i in range(0, 384, 32):
        logits, _ = model(train_x[i:i + 32])
        loss = F.cross_entropy(logits, train_y[i:i + 32])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 4 == 3:
        model.eval()
        with torch.no_grad():
            logits, maps = model(val_x)
            acc = (logits.argmax(1) == val_y).float().mean().item()
            big = (model(big_x)[0].argmax(1) == big_y).float().mean().item()
        print(f"epoch {epoch + 1}: loss {loss.item():.4f} val acc {acc:.3f} large images {big:.3f} "
              f"map total {maps.sum(-1).mean().item():.3f}")
