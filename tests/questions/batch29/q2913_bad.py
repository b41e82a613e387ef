import torch
import torch.nn as nn

torch.manual_seed(12)
torch.set_num_threads(1)


class YOLOLoss(nn.Module):
    def __init__(self, lambda_xy=2.5, lambda_wh=2.5, lambda_conf=1.0, lambda_cls=1.0):
        super().__init__()
        self.lambda_xy, self.lambda_wh = lambda_xy, lambda_wh
        self.lambda_conf, self.lambda_cls = lambda_conf, lambda_cls
        self.mse = nn.MSELoss()
        self.bce = nn.BCEWithLogitsLoss()
        self.ce = nn.CrossEntropyLoss()

    def forward(self, out, labels):
        box, cls, obj = labels
        p = out[obj]
        loss_x = self.bce(p[:, 0], box[obj][:, 0])
        loss_y = self.bce(p[:, 1], box[obj][:, 1])
        loss_w = self.mse(p[:, 2], box[obj][:, 2])
        loss_h = self.mse(p[:, 3], box[obj][:, 3])
        loss_conf = self.bce(out[..., 4], obj.float())
        loss_cls = self.ce(p[:, 5:], cls[obj])
        loss = (self.lambda_xy * (loss_x + loss_y) + self.lambda_wh * (loss_w + loss_h)
                + self.lambda_conf * loss_conf + self.lambda_cls * loss_cls)
        return loss, loss_x, loss_y, loss_w, loss_h, loss_conf, loss_cls


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(9, 24, 1), nn.LeakyReLU(0.1), nn.Conv2d(24, 24, 1), nn.LeakyReLU(0.1))
        self.heads = nn.ModuleList([nn.Conv2d(24, 8, 1) for _ in range(3)])
        self.pool = nn.MaxPool2d(2)

    def forward(self, xs):
        return [head(self.body(x)).permute(0, 2, 3, 1) for head, x in zip(self.heads, xs)]


def make_batch(n=8):
    xs, labels = [], []
    for g in (8, 4, 2):
        obj = torch.rand(n, g, g) < 0.3
        box = torch.rand(n, g, g, 4)
        cls = torch.randint(0, 3, (n, g, g))
        x = torch.cat([obj.float().unsqueeze(-1), box, torch.nn.functional.one_hot(cls, 3).float(),
                       torch.rand(n, g, g, 1)], dim=-1) + 0.1 * torch.randn(n, g, g, 9)
        xs.append(x.permute(0, 3, 1, 2))
        labels.append((box, cls, obj))
    return xs, labels


net = Net()
yolo_losses = [YOLOLoss() for _ in range(3)]
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)

for step in range(200):
    images, labels = make_batch()
    optimizer.zero_grad()
    outputs = net(images)
    losses_name = ["total_loss", "x", "y", "w", "h", "conf", "cls"]
    losses = [[]] * len(losses_name)
    for i in range(3):
        _loss_item = yolo_losses[i](outputs[i], labels[i])
        for j, l in enumerate(_loss_item):
            losses[j].append(l)
    losses = [sum(l) for l in losses]
    loss = losses[0]
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        print(f"step {step + 1}  " + "  ".join(f"{n} {l.item():.3f}" for n, l in zip(losses_name, losses)))
