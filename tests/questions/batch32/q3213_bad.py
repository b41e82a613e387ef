import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

observ_grad_ = []
observ_actv_ = []


def backward_hook(m, i_grad, o_grad):
    observ_grad_.append(o_grad[0].detach())


def forward_hook(m, i, o):
    observ_actv_.append(o.detach())


class VideoNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU())
        self.layer2 = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU())
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        x = self.layer2(self.layer1(x))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def grad_cam(inputs, labels, model, layer_name="layer2"):
    model.eval()
    observ_layer = getattr(model, layer_name)
    observ_layer.register_forward_hook(forward_hook)
    observ_layer.register_full_backward_hook(backward_hook)
    logits = model(inputs)
    model.zero_grad()
    logits.gather(1, labels.view(-1, 1)).sum().backward()
    actv = observ_actv_[0]
    grad = observ_grad_[0]
    weights = grad.mean(dim=(2, 3), keepdim=True)
    cam = F.relu((weights * actv).sum(1))
    return cam / (cam.amax(dim=(1, 2), keepdim=True) + 1e-8)


def pattern(c):
    rows, cols = torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")
    shapes = [rows % 2, cols % 2, (rows + cols) % 2, torch.ones(4, 4)]
    return 2.0 * shapes[c].float()


def frames(n):
    label = torch.randint(0, 4, (n,))
    x = 0.3 * torch.randn(n, 1, 12, 12)
    mask = torch.zeros(n, 12, 12)
    for i, c in enumerate(label.tolist()):
        y0, x0 = torch.randint(0, 9, (2,)).tolist()
        x[i, 0, y0 : y0 + 4, x0 : x0 + 4] += pattern(c)
        mask[i, y0 : y0 + 4, x0 : x0 + 4] = 1.0
    return x, label, mask


def inside(cam, mask):
    return ((cam * mask).sum((1, 2)) / (cam.sum((1, 2)) + 1e-8)).mean().item()


def main():
    model = VideoNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(200):
        x, y, _ = frames(32)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("loss", loss.item())
    for batch in range(5):
        x, y, mask = frames(16)
        cam = grad_cam(x, y, model)
        print(f"batch {batch}: share of the map on the object {inside(cam, mask):.3f}")


if __name__ == "__main__":
    main()
