import torch
import torch.nn as nn
import torch.nn.functional as F


class CenterLoss(nn.Module):
    def __init__(self, num_classes=6, feat_dim=8):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(num_classes, feat_dim))

    def forward(self, feats, labels):
        picked = self.centers[labels]
        return ((feats - picked) ** 2).sum(dim=1).mean()


class FaceNet(nn.Module):
    def __init__(self, num_classes=6, feat_dim=8):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(32, 64), nn.PReLU(), nn.Linear(64, feat_dim), nn.Tanh())
        self.head = nn.Linear(feat_dim, num_classes)

    def forward(self, x):
        f = self.body(x)
        return f, self.head(f)


torch.manual_seed(3)
protos = torch.randn(6, 32)
labels = torch.randint(0, 6, (1200,))
images = protos[labels] + 0.8 * torch.randn(1200, 32)

net = FaceNet()
center_loss = CenterLoss()
params = list(net.parameters())
optimizer = torch.optim.SGD(params, lr=0.01, momentum=0.9, weight_decay=5e-4)

for epoch in range(20):
    order = torch.randperm(1200)
    run_c = run_x = 0.0
    for idx in order.split(60):
        feats, logits = net(images[idx])
        loss_x = F.cross_entropy(logits, labels[idx])
        loss_c = center_loss(feats, labels[idx])
        loss = loss_x + 0.1 * loss_c
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run_x += loss_x.item() / 20
        run_c += loss_c.item() / 20
    print(f"epoch {epoch}: softmax loss {run_x:.4f} center loss {run_c:.4f}")
print("centre norm", center_loss.centers.norm().item())
