import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
SIZE, GRID = 32, 4
STRIDE = SIZE // GRID
ANCHOR = torch.tensor([12.0, 12.0])


def make_scene(n, gen):
    wh = 8 + 12 * torch.rand(n, 2, generator=gen)
    centre = wh / 2 + (SIZE - wh) * torch.rand(n, 2, generator=gen)
    lo, hi = centre - wh / 2, centre + wh / 2
    pix = torch.arange(SIZE) + 0.5
    in_x = (pix >= lo[:, :1]) & (pix < hi[:, :1])
    in_y = (pix >= lo[:, 1:]) & (pix < hi[:, 1:])
    image = (in_y[:, :, None] & in_x[:, None, :]).float()
    image = image + 0.2 * torch.randn(n, SIZE, SIZE, generator=gen)
    return image.unsqueeze(1), torch.cat([centre, wh], 1)


def build_targets(boxes):
    n = len(boxes)
    cell = (boxes[:, :2] / STRIDE).long().clamp(0, GRID - 1)
    t_xy = boxes[:, :2] / STRIDE - cell
    t_wh = torch.log(boxes[:, 2:] / ANCHOR)
    mask = torch.zeros(n, GRID, GRID, dtype=torch.bool)
    mask[torch.arange(n), cell[:, 1], cell[:, 0]] = True
    return t_xy, t_wh, mask


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        layers, c = [], 1
        for out in (16, 32, 64):
            layers += [nn.Conv2d(c, out, 3, padding=1), nn.BatchNorm2d(out), nn.LeakyReLU(0.1), nn.MaxPool2d(2)]
            c = out
        self.backbone = nn.Sequential(*layers)
        self.head = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.LeakyReLU(0.1), nn.Conv2d(64, 5, 1))
        ys, xs = torch.meshgrid(torch.arange(GRID), torch.arange(GRID), indexing="ij")
        self.register_buffer("cells", torch.stack([xs, ys], -1).float())

    def forward(self, images, boxes=None):
        p = self.head(self.backbone(images)).permute(0, 2, 3, 1)
        xy = torch.sigmoid(p[..., 0:2])
        conf = p[..., 4]
        if boxes is not None:
            wh = p[..., 2:4]
            t_xy, t_wh, mask = build_targets(boxes)
            l_xy = F.mse_loss(xy[mask], t_xy)
            l_wh = F.mse_loss(wh[mask], t_wh)
            l_conf = F.binary_cross_entropy_with_logits(conf, mask.float())
            return l_xy + l_wh + 4 * l_conf, (l_xy, l_wh, l_conf)
        wh = torch.exp(p[..., 2:4]) * ANCHOR
        centre = (xy + self.cells) * STRIDE
        return torch.cat([centre, wh], -1).flatten(1, 2), torch.sigmoid(conf).flatten(1)


def iou(a, b):
    lo = torch.maximum(a[:, :2] - a[:, 2:] / 2, b[:, :2] - b[:, 2:] / 2)
    hi = torch.minimum(a[:, :2] + a[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2)
    inter = (hi - lo).clamp(min=0).prod(1)
    return inter / (a[:, 2:].prod(1) + b[:, 2:].prod(1) - inter)


gen = torch.Generator().manual_seed(2)
images, boxes = make_scene(1500, gen)
test_images, test_boxes = make_scene(300, gen)
model = Detector()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(12):
    total = 0.0
    for idx in torch.randperm(len(images)).split(50):
        loss, parts = model(images[idx], boxes[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: loss {total / len(images):.4f} xy {parts[0]:.4f} wh {parts[1]:.4f} conf {parts[2]:.4f}")

model.eval()
with torch.no_grad():
    pred, score = model(test_images)
best = pred[torch.arange(len(pred)), score.argmax(1)]
overlap = iou(best, test_boxes)
offset = (best[:, :2] - test_boxes[:, :2]).norm(dim=1).mean().item()
print(f"centre error {offset:.2f} px  predicted size {best[:, 2:].mean():.2f}  true size {test_boxes[:, 2:].mean():.2f}")
print(f"mean IoU {overlap.mean():.3f}  detected at IoU 0.5: {(overlap > 0.5).float().mean():.3f}")
