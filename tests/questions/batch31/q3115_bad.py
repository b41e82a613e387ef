import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_num_threads(1)
SIZE, GRID, CLASSES, ANCHOR = 128, 16, 2, 1.5


def make_batch(n):
    series = 0.1 * torch.randn(n, 1, SIZE)
    target = torch.zeros(n, GRID, 4)
    t = torch.arange(SIZE).float()
    for i in range(n):
        for half in range(2):
            centre = torch.rand(()) * 44 + 10 + 64 * half
            width = torch.rand(()) * 14 + 8
            cls = torch.randint(0, CLASSES, ()).item()
            inside = ((t - centre).abs() < width / 2).float()
            series[i, 0] += inside if cls == 0 else inside * torch.sin(t * 1.5)
            cell = centre / SIZE * GRID
            target[i, int(cell)] = torch.tensor([1.0, cell - int(cell), width / SIZE * GRID, cls])
    return series, target


def intersection_over_union_1d(a, b):
    a1, a2 = a[..., 0:1] - a[..., 1:2] / 2, a[..., 0:1] + a[..., 1:2] / 2
    b1, b2 = b[..., 0:1] - b[..., 1:2] / 2, b[..., 0:1] + b[..., 1:2] / 2
    inter = (torch.min(a2, b2) - torch.max(a1, b1)).clamp(min=0)
    return inter / ((a2 - a1) + (b2 - b1) - inter + 1e-6)


class Yolo1DLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.mse, self.bce, self.entropy = nn.MSELoss(), nn.BCEWithLogitsLoss(), nn.CrossEntropyLoss()

    def forward(self, predictions, target):
        obj, noobj = target[..., 0] == 1, target[..., 0] == 0
        no_obj_loss = self.bce(predictions[..., 0:1][noobj], target[..., 0:1][noobj])
        box_predictions = torch.cat([torch.sigmoid(predictions[..., 0:1]),
                                     torch.exp(predictions[..., 1:2]) * ANCHOR], dim=-1)
        ious = intersection_over_union_1d(box_predictions[obj], target[..., 1:3][obj]).detach()
        object_loss = self.mse(torch.sigmoid(predictions[..., 0:1][obj]), ious * target[..., 0:1][obj])
        x = torch.sigmoid(predictions[..., 1:2][obj])
        w = predictions[..., 2:3][obj]
        box_loss = self.mse(x, target[..., 1:2][obj]) + self.mse(w, torch.log(target[..., 2:3][obj] / ANCHOR + 1e-6))
        class_loss = self.entropy(predictions[..., 3:][obj], target[..., 3][obj].long())
        return 10 * box_loss + class_loss + no_obj_loss + 5 * object_loss


class Yolo1D(nn.Module):
    def __init__(self, c=24):
        super().__init__()
        layers, cin = [], 1
        for cout in (c, c, 2 * c):
            layers += [nn.Conv1d(cin, cout, 7, stride=2, padding=3), nn.BatchNorm1d(cout), nn.LeakyReLU(0.1)]
            cin = cout
        self.net = nn.Sequential(*layers, nn.Conv1d(cin, cin, 5, padding=2), nn.LeakyReLU(0.1),
                                 nn.Conv1d(cin, 3 + CLASSES, 1))

    def forward(self, x):
        return self.net(x).transpose(1, 2)


model, criterion = Yolo1D(), Yolo1DLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(300):
    series, target = make_batch(24)
    loss = criterion(model(series), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        print(f"step {step} loss {loss.item():.4f}")

model.eval()
series, target = make_batch(200)
with torch.no_grad():
    pred = model(series)
    score = torch.sigmoid(pred[..., 0])
    there = target[..., 0] == 1
    boxes = torch.cat([torch.sigmoid(pred[..., 1:2]), torch.exp(pred[..., 2:3]) * ANCHOR], -1)
    found = (score > 0.5) & there
    print(f"score in object cells {score[there].mean():.3f}, elsewhere {score[~there].mean():.3f}; "
          f"recall {found.sum() / there.sum():.3f}; "
          f"iou of boxes {intersection_over_union_1d(boxes[there], target[there][:, 1:3]).mean():.3f}")
