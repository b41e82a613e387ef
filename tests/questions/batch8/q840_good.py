import argparse
import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class PConvUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(24, 48), nn.BatchNorm1d(48), nn.ReLU())
        self.dec = nn.Sequential(nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 24))
        self.freeze_enc_bn = False

    def forward(self, image, mask):
        return self.dec(self.enc(image * mask))

    def train(self, mode=True):
        super().train(mode)
        if self.freeze_enc_bn:
            self.enc[1].eval()
        return self


def make_batch(mix, n=16):
    image = torch.tanh(torch.randn(n, 4) @ mix) + 0.25 * torch.randn(n, 24)
    return image, (torch.rand(n, 24) > 0.3).float()


def evaluate(model, test):
    model.eval()
    with torch.no_grad():
        return F.l1_loss(model(*test), test[0]).item()


def run(args, mix, test, checkpoint=None):
    model = PConvUNet()
    if checkpoint is not None:
        model.load_state_dict(checkpoint)
    if args.finetune:
        lr = args.lr_finetune
        model.freeze_enc_bn = True
    else:
        lr = args.lr
    optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=lr)
    print(f"{'fine-tuning' if args.finetune else 'training'} with learning rate {lr}")
    for i in range(1, args.max_iter + 1):
        model.train()
        image, mask = make_batch(mix)
        loss = F.l1_loss(model(image, mask), image)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % (args.max_iter // 4) == 0:
            used = optimizer.param_groups[0]["lr"]
            print(f"iteration {i}: test error {evaluate(model, test):.4f}, optimizer's learning rate {used}")
    return copy.deepcopy(model.state_dict())


def main():
    mix = torch.randn(4, 24)
    test = make_batch(mix, 2000)
    args = argparse.Namespace(lr=1e-2, lr_finetune=2e-4, finetune=False, max_iter=400)
    checkpoint = run(args, mix, test)
    args.finetune = True
    run(args, mix, test, checkpoint)


if __name__ == "__main__":
    main()
