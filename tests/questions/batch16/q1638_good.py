import torch
import torch.nn as nn
import torch.nn.functional as F


def bbox_iou(a, b):
    low = torch.maximum(a[..., :2] - a[..., 2:] / 2, b[..., :2] - b[..., 2:] / 2)
    high = torch.minimum(a[..., :2] + a[..., 2:] / 2, b[..., :2] + b[..., 2:] / 2)
    inter = (high - low).clamp_min(0).prod(dim=-1)
    return inter / (a[..., 2:].prod(dim=-1) + b[..., 2:].prod(dim=-1) - inter)


class Darknet(nn.Module):
    def __init__(self, anchors):
        super().__init__()
        self.register_buffer("anchors", anchors)
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(24 * 25, 96),
            nn.ReLU(),
        )
        self.head = nn.Linear(96, len(anchors) * 5)

    def forward(self, x):
        out = self.head(self.features(x)).view(len(x), -1, 5)
        xy = torch.sigmoid(out[..., :2])
        wh = self.anchors * torch.exp(out[..., 2:4].clamp(-3, 3))
        return torch.cat([xy, wh], dim=-1), torch.sigmoid(out[..., 4])


def build_target(bbox_pred, gt_boxes, anchors):
    center = torch.full((len(gt_boxes), len(anchors), 2), 0.5)
    anchor_boxes = torch.cat([center, anchors.expand(len(gt_boxes), -1, -1)], dim=-1)
    sized = torch.cat([center[:, :1], gt_boxes[:, None, 2:]], dim=-1)
    best = bbox_iou(anchor_boxes, sized).argmax(dim=1)
    ious = bbox_iou(bbox_pred, gt_boxes[:, None]).detach()
    return best, ious


def make_images(n, side=20):
    wh = 0.2 + 0.5 * torch.rand(n, 2)
    xy = wh / 2 + (1 - wh) * torch.rand(n, 2)
    axis = (torch.arange(side) + 0.5) / side
    inside_y = (axis.view(1, -1) - xy[:, 1:]).abs() < wh[:, 1:] / 2
    inside_x = (axis.view(1, -1) - xy[:, :1]).abs() < wh[:, :1] / 2
    image = (inside_y[:, :, None] & inside_x[:, None]).float() + 0.3 * torch.randn(n, side, side)
    return image[:, None], torch.cat([xy, wh], dim=1)


def main():
    torch.manual_seed(0)
    images, boxes = make_images(1200)
    val_images, val_boxes = make_images(300)
    anchors = torch.tensor([[0.3, 0.3], [0.6, 0.3], [0.3, 0.6], [0.6, 0.6]])
    net = Darknet(anchors)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(1, 11):
        for rows in torch.randperm(len(images)).split(40):
            bbox_pred, iou_pred = net(images[rows])
            best, ious = build_target(bbox_pred, boxes[rows], anchors)
            pick = torch.arange(len(rows)), best
            bbox_loss = F.mse_loss(bbox_pred[pick], boxes[rows])
            iou_loss = F.mse_loss(iou_pred, ious)
            loss = 5 * bbox_loss + iou_loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 2 == 0:
            with torch.no_grad():
                bbox_pred, iou_pred = net(val_images)
                real = bbox_iou(bbox_pred, val_boxes[:, None])
            top = torch.arange(len(real)), iou_pred.argmax(dim=1)
            print(
                f"epoch {epoch:2d}: bbox loss {bbox_loss.item():.4f}  iou loss {iou_loss.item():.4f}  "
                f"IoU predicted for the chosen box {iou_pred[top].mean():.3f}, real {real[top].mean():.3f}, "
                f"best of the four {real.amax(dim=1).mean():.3f}"
            )


if __name__ == "__main__":
    main()
